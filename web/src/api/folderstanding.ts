import type { Schemas } from "./client";

type Told = Schemas["FolderStanding"];

/** FolderFinding is what is wrong with a folder on a device besides its state. */
export interface FolderFinding {
  cause: string;
  reason: string;
  next: string;
}

/** FolderStanding is how a folder is on a device. Its state may be one that this console does not know yet. */
export type FolderStanding = Omit<Told, "state" | "last" | "type" | "error" | "besides"> & {
  state: string;
  last: string;
  type: string;
  error: Told["error"] | null;
  besides?: FolderFinding[]; // an older server tells none
};
