import type { Schemas } from "../../api/client";

type Share = Pick<Schemas["FolderShare"], "deviceID" | "label" | "peers" | "type">;

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
