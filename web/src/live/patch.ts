import type { Schemas } from "../api/client";
import type { Inventory, InventoryDevice } from "../api/inventory";

/** A LiveEvent is one event of the stream. Its type decides what its data holds. */
export type LiveEvent = Schemas["Event"];

/** rowsOf gives the last row that events tell of each device; undefined for a device that is registered no more. */
function rowsOf(events: LiveEvent[]): Map<string, InventoryDevice | undefined> {
  const rows = new Map<string, InventoryDevice | undefined>();
  for (const event of events) {
    if (event.type === "inventory") rows.set(event.device, event.data.row);
    else if (event.type === "device" && event.data.deleted) rows.set(event.device, undefined);
  }
  return rows;
}

/** patchInventory puts the rows that events carry into the inventory. The order stays; new devices come last. */
export function patchInventory(old: Inventory, events: LiveEvent[]): Inventory {
  const rows = rowsOf(events);
  if (rows.size === 0) return old;
  const devices: InventoryDevice[] = [];
  for (const row of old.devices) {
    const now = rows.has(row.deviceID) ? rows.get(row.deviceID) : row;
    if (now) devices.push(now);
    rows.delete(row.deviceID);
  }
  for (const row of rows.values()) if (row) devices.push(row);
  return { ...old, devices, total: old.total + devices.length - old.devices.length };
}

/** bringsVersion tells whether rows of events have a version that no device ran: others may be outdated by it. */
export function bringsVersion(old: Inventory, events: LiveEvent[]): boolean {
  const came = [...rowsOf(events).values()].flatMap((row) => (row?.version ? [row.version] : []));
  if (came.length === 0) return false;
  const known = new Set(old.devices.map((row) => row.version));
  return came.some((version) => !known.has(version));
}
