import type { Schemas } from "../../api/client";
import { shortID } from "../../ui/format";

type HeldChange = Schemas["HeldChange"];

/** sameChanges puts changes together that have the same key, values and reason, in the order of the first of each. */
export function sameChanges(changes: HeldChange[]): [HeldChange, ...HeldChange[]][] {
  const kinds = new Map<string, [HeldChange, ...HeldChange[]]>();
  for (const change of changes) {
    const id = JSON.stringify([change.key, change.from, change.to, change.reason, change.digest === ""]);
    const same = kinds.get(id);
    if (same) same.push(change);
    else kinds.set(id, [change]);
  }
  return [...kinds.values()];
}

/** namesOf says which devices, folders and paths a change names. */
export function namesOf({ devices, folders, paths }: Schemas["ChangeNames"]): string {
  return [
    ...devices.map(({ deviceID, label }) => label || shortID(deviceID)),
    ...folders.map((folder) => `folder ${folder}`),
    ...paths,
  ].join(", ");
}
