import type { InventoryDevice } from "../api/inventory";

/** A Cause is one reason for which devices wait for a person: one look at it is enough for all of them. */
export interface Cause {
  kind: string; // a configuration or a connection
  reason: string;
  next: string;
  devices: InventoryDevice[];
}

const configurationCauses = ["failed", "contended", "unstable"];
const connectionCauses = ["identityMismatch", "pinMismatch", "unconfirmed", "cloned", "keyRefused"];
const order = [...configurationCauses, ...connectionCauses];

/** causesOf groups devices that wait by what they wait for. Held changes are not here: consents have their own list. */
export function causesOf(rows: InventoryDevice[]): Cause[] {
  const causes = new Map<string, Cause>();
  for (const row of rows) {
    const kind = connectionCauses.includes(row.connection)
      ? row.connection
      : configurationCauses.includes(row.configuration)
        ? row.configuration
        : "";
    if (kind === "") continue;
    const key = JSON.stringify([kind, comparable(row.reason)]);
    const cause = causes.get(key);
    if (cause) cause.devices.push(row);
    else causes.set(key, { kind, reason: row.reason, next: row.next, devices: [row] });
  }
  return [...causes.values()].sort(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.devices.length - a.devices.length,
  );
}

/** comparable leaves out of a reason what differs from device to device: addresses, IDs, fingerprints. */
export function comparable(reason: string): string {
  return reason
    .replace(/[A-Z2-7]{7}(-[A-Z2-7]{7}){7}/g, "ID")
    .replace(/sha256:[0-9a-f]+/g, "sha256")
    .replace(/\[?[0-9a-f.:]*[.:][0-9a-f.:]+\]?:\d+/gi, "ADDRESS");
}
