import type { Schemas } from "../api/client";
import type { FolderStanding } from "../api/folderstanding";
import { count, plural, size, span } from "./format";

type Figures = Pick<
  FolderStanding,
  "state" | "paused" | "globalBytes" | "needBytes" | "needItems" | "needDeletes" | "rate" | "doneBetween"
>;

type FolderOverview = Schemas["FolderOverview"];

// In these states the figures are of the past, or of nobody but the device itself.
const old = new Set(["unknown", "stopped", "paused", "unshared", "alone"]);

/** isCurrent tells whether the figures say something about now: only then a percentage, a bar or a rate may show. */
export function isCurrent({ state, paused }: Pick<FolderStanding, "state" | "paused">): boolean {
  return !paused && !old.has(state);
}

function lacks({ needBytes, needItems, needDeletes }: Figures): boolean {
  return needBytes > 0 || needItems > 0 || needDeletes > 0;
}

/**
 * completion is how much of the folder is there, in percent; undefined where nobody can tell. It is 100 only where the
 * state is that the folder is up to date.
 */
export function completion(figures: Figures): number | undefined {
  const { state, globalBytes, needBytes } = figures;
  if (!isCurrent(figures)) return undefined;
  if (state === "upToDate") return lacks(figures) ? undefined : 100;
  if (!lacks(figures)) return undefined;
  if (globalBytes <= 0 || needBytes <= 0) return 99;
  return Math.max(0, Math.min(99, Math.floor(((globalBytes - needBytes) / globalBytes) * 100)));
}

/** missing is what the device lacks: 1.5 GiB in 12 items, 3 to delete. It is blank where nothing is missing. */
export function missing(figures: Pick<Figures, "needBytes" | "needItems" | "needDeletes">): string {
  const { needBytes, needItems, needDeletes } = figures;
  const items = needItems > 0 ? plural(needItems, "item") : "";
  const bytes = needBytes > 0 ? size(needBytes) : "";
  const parts = [[bytes, items].filter(Boolean).join(" in "), needDeletes > 0 ? `${count(needDeletes)} to delete` : ""];
  return parts.filter(Boolean).join(", ");
}

/** lackOfAll is what devices lack together. Where it is not known of some, it is the least, and a zero is not said. */
export function lackOfAll({ needBytes, needUnknown }: Pick<FolderOverview, "needBytes" | "needUnknown">): string {
  if (needUnknown === 0) return needBytes > 0 ? size(needBytes) : "0";
  return needBytes > 0 ? `at least ${size(needBytes)}` : "";
}

/** unknownOn says on how many devices it is not known what is missing; blank where it is known on all. */
export function unknownOn({ needUnknown }: Pick<FolderOverview, "needUnknown">): string {
  return needUnknown > 0 ? `not known on ${plural(needUnknown, "device")}` : "";
}

/** pace is how fast what is missing comes: 3.00 MiB a second. It is blank where nothing comes. */
export function pace(figures: Figures): string {
  return isCurrent(figures) && figures.rate > 0 ? `${size(figures.rate)} a second` : "";
}

/** ending is when nothing will be missing any more: done in 3 min to 9 min. It is blank where nobody can tell. */
export function ending(figures: Pick<Figures, "state" | "paused" | "doneBetween">, now: Date): string {
  const [from, to] = figures.doneBetween.map((at) => new Date(at).getTime() - now.getTime());
  if (!isCurrent(figures) || from === undefined || to === undefined || to <= 0) return "";
  const [least, most] = [span(from), span(to)];
  if (from <= 0) return `done within ${most}`;
  return least === most ? `done in about ${most}` : `done in ${least} to ${most}`;
}
