import type { Schemas } from "../../api/client";
import { count, plural } from "../../ui/format";

/** devicesCompared is of how many devices one answer has the shares: the server reads the configurations of no more. */
export const devicesCompared = 200;

type Share = Pick<Schemas["FolderShare"], "deviceID" | "label" | "peers" | "type">;
type Counted = Pick<Schemas["FolderShare"], "peerCount">;

interface Side {
  deviceID: string;
  label: string;
}

export interface OneSided {
  from: Side; // shares it
  to: Side; // does not
}

/** oneSided are the shares that one side has and the other one has not: nothing is exchanged by them. */
export function oneSided(shares: Share[]): OneSided[] {
  return shares.flatMap((from) => from.peers.filter((peer) => peer.side === "onlyHere").map((to) => ({ from, to })));
}

/** oneSidedText says how many shares only one side has. An answer has only the first peers of each device, and counts all. */
export function oneSidedText(shares: Counted[], isPart: boolean): { all: number; text: string } {
  const all = shares.reduce((sum, { peerCount }) => sum + peerCount, 0);
  const what = plural(all, "share that only one side has", "shares that only one side has");
  const where = isPart ? `, of the first ${count(devicesCompared)} devices` : "";
  return { all, text: `${what}${where}: nothing is exchanged by ${all === 1 ? "it" : "them"}` };
}

/** byFolder puts the one-sided shares of the fleet together by folder, in the order in which they come. */
export function byFolder(shares: Schemas["OneSidedShare"][]): { folder: string; label: string; found: OneSided[] }[] {
  const folders = new Map<string, { folder: string; label: string; found: OneSided[] }>();
  for (const { folder, folderLabel, deviceID, label, peerID, peerLabel } of shares) {
    const of = folders.get(folder) ?? { folder, label: folderLabel, found: [] };
    of.found.push({ from: { deviceID, label }, to: { deviceID: peerID, label: peerLabel } });
    folders.set(folder, of);
  }
  return [...folders.values()];
}

/** encryptedOn are the IDs of the devices that have the folder encrypted, by their own word or by that of a peer. */
export function encryptedOn(shares: Share[]): Set<string> {
  const found = new Set(shares.filter((one) => one.type === "receiveencrypted").map((one) => one.deviceID));
  for (const { peers } of shares) for (const peer of peers) if (peer.encrypted) found.add(peer.deviceID);
  return found;
}

/** folderKey is where a folder is in a configuration. */
export function folderKey(folder: string): string {
  return `folders.${/[."*\\]|^\s|\s$/.test(folder) ? JSON.stringify(folder) : folder}`;
}
