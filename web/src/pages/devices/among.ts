import type { Schemas } from "../../api/client";
import type { InventoryDevice } from "../../api/inventory";

type Difference = Schemas["Difference"] & { who: InventoryDevice[] };

export interface Among {
  differences: Difference[];
  failed: { device: InventoryDevice; error: string }[];
  differing: number; // devices that have any difference, or no plan
  narrowed: boolean; // There are others, which the server knows of.
}

/** among picks what of the differences is of some devices: those of most of them first. */
export function among(all: Schemas["Differences"], devices: InventoryDevice[]): Among {
  const byID = new Map(devices.map((device) => [device.deviceID, device]));
  const named = (id: string) => byID.get(id) ?? [];
  const differences = all.differences
    .map((one) => ({ ...one, who: one.devices.flatMap(named) }))
    .filter((one) => one.who.length > 0)
    .sort((a, b) => b.who.length - a.who.length);
  const failed = all.failed.flatMap(({ deviceID, error }) => {
    const device = byID.get(deviceID);
    return device ? [{ device, error }] : [];
  });
  const differing = new Set([...differences.flatMap((one) => one.who), ...failed.map((one) => one.device)]).size;
  const narrowed =
    failed.length < all.failed.length || all.differences.some((one) => one.devices.some((id) => !byID.has(id)));
  return { differences, failed, differing, narrowed };
}
