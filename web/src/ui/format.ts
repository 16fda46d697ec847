/** What turns values of the API into text for people. Nothing here touches the page. */

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** size writes bytes with three digits that count: 1.5 GiB, 23.4 MiB, 812 B. */
export function size(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** count writes a number with separators. */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** plural writes a number with its noun: 1 device, 12 devices. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const steps: [seconds: number, unit: string][] = [
  [60, "s"],
  [3600, "min"],
  [86_400, "h"],
  [86_400 * 30, "d"],
  [86_400 * 365, "mo"],
  [Infinity, "y"],
];
const lengths: Record<string, number> = { s: 1, min: 60, h: 3600, d: 86_400, mo: 86_400 * 30, y: 86_400 * 365 };

/** span writes a time in its largest unit: 42 s, 5 min, 3 h, 12 d. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  for (const [limit, unit] of steps) {
    if (seconds < limit) return `${Math.floor(seconds / (lengths[unit] ?? 1))} ${unit}`;
  }
  return "";
}

// The clock of the page ticks in steps: what has just happened is ahead of it by as much.
const clockStep = 15_000;

/** ago writes how long ago a moment is, or how far ahead. */
export function ago(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime();
  if (ms < -clockStep) return `in ${span(-ms)}`;
  if (ms < 5000) return "just now";
  return `${span(ms)} ago`;
}

/** exactly writes a moment in the person's own time zone. */
export function exactly(at: Date): string {
  return at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** clock writes a moment to the second: the time alone of today, with the date of another day. */
export function clock(at: Date, now: Date): string {
  const time = at.toLocaleTimeString(undefined, { hour12: false });
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.toLocaleDateString(undefined, { dateStyle: "medium" })}, ${time}`;
}

/** shortID is the first group of a device ID, which people know it by. */
export function shortID(id: string): string {
  return id.split("-")[0] ?? id;
}

/** percent rounds down, so that 100 % means all of it. */
export function percent(part: number, whole: number): number {
  if (whole <= 0) return 100;
  return Math.max(0, Math.min(100, Math.floor((part / whole) * 100)));
}

const firstWords = new Set<string>(); // of the names of devices, templates and tags

/** learnNames has sentence leave names as they are written. */
export function learnNames(names: Iterable<string>) {
  for (const name of names) {
    const first = firstWord(name);
    if (first !== "") firstWords.add(first);
  }
}

const firstWord = (text: string) => /^[^\s:;,]+/.exec(text)?.[0] ?? "";

/** isName tells a word that is a name: a known one, a key, or what is written as no word of a language is. */
const isName = (word: string) => firstWords.has(word) || /[\d._/\\@~-]|.\p{Lu}/u.test(word.replace(/[.!?)]+$/, ""));

/** sentence begins with a capital, unless a name begins it, and ends with a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "";
  return ended(isName(firstWord(trimmed)) ? trimmed : trimmed.charAt(0).toUpperCase() + trimmed.slice(1));
}

/** ended ends a text with a full stop, and leaves how it begins: a name may begin it. */
export const ended = (text: string) => (text === "" || /[.!?:)]$/.test(text) ? text : `${text}.`);

/** decoded undoes the encoding of an address, which a router may have undone already. */
export function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** brief cuts a text that is too long for one line, and says so. */
export function brief(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/**
 * roomAfter gives each of some moments, the oldest first, its share of a line: more for a longer time until the next
 * one, by order of magnitude, so that seconds and months fit one line. The last one needs none.
 */
export function roomAfter(moments: string[]): number[] {
  const at = moments.map((moment) => new Date(moment).getTime());
  return at.map((time, i) => {
    const next = at[i + 1];
    return next === undefined ? 0 : 1 + Math.log10(1 + Math.max(0, next - time) / 1000);
  });
}
