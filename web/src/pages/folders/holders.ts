import type { Schemas } from "../../api/client";
import type { FolderStanding } from "../../api/folderstanding";

type Share = Pick<Schemas["FolderShare"], "deviceID" | "peers">;
type Standing = Pick<FolderStanding, "deviceID" | "state">;

/** In these states nothing is missing, and the device can send all of the folder. */
const whole = new Set(["upToDate", "conflicts", "diskNearlyFull"]);

/**
 * holdersOf are the devices that are connected to a device and have all of a folder: what the device lacks comes
 * from these. Of a device that is not managed here nobody knows.
 */
export function holdersOf(deviceID: string, shares: Share[], standings: Standing[]): Share["peers"] {
  const complete = new Set(standings.filter(({ state }) => whole.has(state)).map((one) => one.deviceID));
  const own = shares.find((one) => one.deviceID === deviceID);
  return (own?.peers ?? []).filter((peer) => peer.connected === "yes" && complete.has(peer.deviceID));
}

