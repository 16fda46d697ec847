import type { Schemas } from "../../api/client";
import { plural } from "../../ui/format";

export type Trouble = Schemas["Trouble"];

/** words say what is wrong with the folders of each cause: 3 folders stopped. */
const words: Record<string, string> = {
  folderStopped: "stopped",
  driveMissing: "with a missing drive",
  diskNearlyFull: "on a disk that is nearly full",
  atRisk: "with data on too few other devices",
  failedItems: "with failed items",
  stalled: "stalled",
  alone: "alone",
  disagree: "in disagreement",
  outOfSync: "out of sync",
  localChanges: "with local changes",
  conflicts: "with conflicts",
};

/** isTrouble tells whether a cause is about devices and files that are not as they should be. */
export function isTrouble(cause: string): boolean {
  return cause === "unreachable" || cause in words;
}

/** headline says how many folders and devices a trouble is about: 3 folders stopped on 2 devices. */
export function headline({ cause, devices, folders }: Pick<Trouble, "cause" | "devices" | "folders">): string {
  const on = plural(devices, "device");
  if (cause === "unreachable") return `${on} unreachable`;
  return `${folders > 0 ? plural(folders, "folder") : on} ${words[cause] ?? cause}${folders > 0 ? ` on ${on}` : ""}`;
}

/** byCount are the names of some counts, the largest first. */
export function byCount(counts: Readonly<Record<string, number>>): [name: string, n: number][] {
  return Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}
