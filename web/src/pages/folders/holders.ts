import type { Schemas } from "../../api/client";
import type { FolderStanding } from "../../api/folderstanding";

type Share = Pick<Schemas["FolderShare"], "deviceID" | "peers">;
type Standing = Pick<FolderStanding, "deviceID" | "state">;

/**
 * holdersOf are the devices that are connected to a device and up to date in a folder: what the device lacks comes
 * from these. Of a device that is not managed here nobody knows.
 */
export function holdersOf(deviceID: string, shares: Share[], standings: Standing[]): Share["peers"] {
  const complete = new Set(standings.filter(({ state }) => state === "upToDate").map((one) => one.deviceID));
  const own = shares.find((one) => one.deviceID === deviceID);
  return (own?.peers ?? []).filter((peer) => peer.connected === "yes" && complete.has(peer.deviceID));
}

