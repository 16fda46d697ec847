import type { Schemas } from "../api/client";

type Entry = Pick<Schemas["AuditEntry"], "what" | "subject" | "at">;

/** templateOf is the template that an entry is about, where its text may have been changed; 0: none. */
export function templateOf({ what, subject }: Entry): number {
  return /^template\.(create|replace|restore|undo)/.test(what) && /^\d+$/.test(subject) ? Number(subject) : 0;
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
