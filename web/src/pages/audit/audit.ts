import type { Schemas } from "../../api/client";
import { brief } from "../../ui/format";

type Entry = Pick<Schemas["AuditEntry"], "what" | "subject" | "at" | "detail">;

/** templateOf is the template that an entry is about, where its text may have been changed; 0: none. */
export function templateOf({ what, subject }: Pick<Entry, "what" | "subject" | "at">): number {
  return /^template\.(create|replace|restore|undo)/.test(what) && /^\d+$/.test(subject) ? Number(subject) : 0;
}

/** placeOf is the page of what an entry is about; blank where there is none, or none any more. */
export function placeOf({ what, subject }: Pick<Entry, "what" | "subject">, isDevice: boolean): string {
  if (isDevice) return `/devices/${subject}`;
  if (subject === "" || /\.(delete|remove)/.test(what)) return "";
  if (/^\d+$/.test(subject)) {
    if (what.startsWith("template.")) return `/templates/${subject}`;
    if (what.startsWith("rollout.")) return `/rollouts/${subject}`;
  }
  return what.startsWith("tag.") ? `/tags/${encodeURIComponent(subject)}` : "";
}

/**
 * versionsAt are the version of a template that an entry made and the one before it: both have the time of the same
 * write. Versions come newest first.
 */
export function versionsAt<V extends { at: string }>(versions: V[], at: string): { made: V | undefined; before: V | undefined } {
  const moment = new Date(at).getTime();
  const i = versions.findIndex((one) => new Date(one.at).getTime() === moment);
  return i < 0 ? { made: undefined, before: undefined } : { made: versions[i], before: versions[i + 1] };
}

/** isTemplate tells whether the subject of an entry is the number of a template. */
export function isTemplate({ what, subject }: Pick<Entry, "what" | "subject">): boolean {
  return what.startsWith("template.") && /^\d+$/.test(subject);
}

/** nameThen is the label of a template that is gone, as an entry has it: its detail begins with the label. */
function nameThen({ what, detail }: Pick<Entry, "what" | "detail">): string {
  return /^template\.(create|replace|delete|restore)$/.test(what) ? brief(detail.replace(/;? ?title: ".*$/, ""), 60) : "";
}

/**
 * namesThen are the labels of templates that are gone, as any of the entries has them: what happened to the tags of a
 * template that was undone names it too. Those that are there have the names of now.
 */
export function namesThen(
  entries: Pick<Entry, "what" | "subject" | "detail">[],
  names: ReadonlyMap<number, string>,
): ReadonlyMap<number, string> {
  const all = new Map(names);
  for (const entry of entries) {
    const then = isTemplate(entry) ? nameThen(entry) : "";
    if (then !== "" && !all.has(Number(entry.subject))) all.set(Number(entry.subject), then);
  }
  return all;
}

/** subjectOf names what an entry is about: devices and templates by label, those that are gone as the entry has it. */
export function subjectOf(
  entry: Pick<Entry, "what" | "subject" | "detail">,
  labels: ReadonlyMap<string, string>,
  names: ReadonlyMap<number, string>,
): string {
  if (isTemplate(entry)) return names.get(Number(entry.subject)) || nameThen(entry) || `template ${entry.subject}`;
  if (entry.what.startsWith("rollout.")) return `rollout ${entry.subject}`;
  if (/^(devices|order)\./.test(entry.what)) return `order ${entry.subject}`;
  return labels.get(entry.subject) || brief(entry.subject);
}

type Change = Pick<Schemas["RecentChange"], "at" | "since" | "who" | "rollout" | "undoable"> & {
  parts: Pick<Schemas["ChangePart"], "what">[];
};

/**
 * rolloutOf is the rollout by which the change that an entry belongs to can be undone; 0: none. A change has only acts
 * of the kinds that it lists: others of the same person at the same time are not taken back.
 */
export function rolloutOf(
  { at, who, what }: Pick<Schemas["AuditEntry"], "at" | "who" | "what">,
  changes: Change[],
): number {
  const moment = new Date(at).getTime();
  const of = changes.find(
    (one) =>
      one.who === who &&
      one.parts.some((part) => part.what === what) &&
      new Date(one.since).getTime() <= moment &&
      moment <= new Date(one.at).getTime(),
  );
  return of?.undoable ? of.rollout : 0;
}

const hour = 60 * 60 * 1000;

/** lately are the times before now that one button picks. */
export const lately: Readonly<Record<string, { says: string; ms: number }>> = {
  hour: { says: "Last hour", ms: hour },
  day: { says: "Last 24 hours", ms: 24 * hour },
};

/** lastOf is which of these buttons is active; blank: none. A day from which on entries are listed goes before them. */
export const lastOf = (last: string, since: string) => (since === "" && last in lately ? last : "");
