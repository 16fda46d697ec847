import type { Schemas } from "../api/client";
import type { Inventory } from "../api/inventory";

export type LiveEvent = Omit<Schemas["Event"], "data"> & { data: unknown };

/** What the data of an event holds depends on its type; the document says of it only that it is JSON. */
export interface DeviceEvent {
  deleted: boolean;
  state: Schemas["DeviceState"] | null;
}
export interface FolderEvent {
  summary: Schemas["FolderSummary"];
  state: string;
  error: string;
}

/** patchInventory puts the states that events tell into their rows. The order of the rows stays. */
export function patchInventory(old: Inventory, events: LiveEvent[]): Inventory {
  const states = new Map<string, Schemas["DeviceState"] | null>();
  for (const event of events) {
    if (event.type !== "device" && event.type !== "plan") continue;
    states.set(event.device, (event.data as DeviceEvent).state);
  }
  if (states.size === 0) return old;
  const devices: Inventory["devices"] = [];
  for (const row of old.devices) {
    const state = states.get(row.deviceID);
    if (state === undefined) devices.push(row);
    else if (state !== null) {
      const { connection, configuration, reason, next, since, lastSeen, address, foundBy } = state;
      devices.push({ ...row, connection, configuration, reason, next, since, lastSeen, address, foundBy });
    }
  }
  return { ...old, devices, total: old.total - (old.devices.length - devices.length) };
}
