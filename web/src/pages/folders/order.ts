import type { FolderStanding } from "../../api/folderstanding";
import { placeOf } from "../../ui/folderwords";

/** worstFirst puts devices in the order of their states; of equal ones the device that lacks most is first. */
export function worstFirst<T extends Pick<FolderStanding, "state" | "needBytes">>(all: T[]): T[] {
  return [...all].sort((a, b) => placeOf(a.state) - placeOf(b.state) || b.needBytes - a.needBytes);
}
