import type { Schemas } from "../../api/client";
import { count, plural } from "../../ui/format";

type Told = Schemas["FolderConflicts"];

/** conflictCounts is how many conflicts a device tells of, in words; blank where it tells of none. */
export function conflictCounts(told: Told | undefined): string {
  if (!told) return ""; // an older server tells nothing
  const files = told.more
    ? `more than ${plural(told.files, "conflict file")}`
    : told.files > 0
      ? plural(told.files, "conflict file")
      : "";
  const counted = told.counted > 0 ? `its daemon counted ${count(told.counted)} since its start` : "";
  return [files, counted].filter(Boolean).join("; ");
}

/** conflictTitle says how many files are in conflict. The same file is on several devices: the most of one counts. */
export function conflictTitle(all: Told[]): string {
  const most = all.reduce((worst, one) => (one.files > worst.files ? one : worst));
  if (most.files === 0) return "Conflicts that daemons counted";
  return `${all.some((one) => one.more) ? "More than " : ""}${plural(most.files, "file")} in conflict`;
}
