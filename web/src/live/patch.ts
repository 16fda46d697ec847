import type { Schemas } from "../api/client";
import type { Inventory, InventoryDevice } from "../api/inventory";

export type LiveEvent = Omit<Schemas["Event"], "data"> & { data: unknown };

/** What the data of an event holds depends on its type; the document says of it only that it is JSON. */
export interface DeviceEvent {
  deleted: boolean;
  state: Schemas["DeviceState"] | null;
}
export interface StatusEvent {
  status: Schemas["DeviceStatus"] | null;
}
export type FolderEvent = Schemas["FolderEvent"];
interface InventoryEvent {
  row: InventoryDevice;
}

/** rowsOf gives the last row that events tell of each device; undefined for a device that is registered no more. */
function rowsOf(events: LiveEvent[]): Map<string, InventoryDevice | undefined> {
  const rows = new Map<string, InventoryDevice | undefined>();
  for (const event of events) {
    if (event.type === "inventory") rows.set(event.device, (event.data as InventoryEvent).row);
    else if (event.type === "device" && (event.data as DeviceEvent).deleted) rows.set(event.device, undefined);
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

/** patchFolders puts what events say of folders into the answer that has one entry for each folder of a device. */
export function patchFolders(old: FolderEvent[], fresh: FolderEvent): FolderEvent[] {
  const at = old.findIndex((one) => one.summary.folder === fresh.summary.folder);
  return at < 0 ? [...old, fresh] : old.with(at, fresh);
}
