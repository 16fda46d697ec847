import { plural } from "./format";

/** How long a device may be away before that is trouble, as people type and read it. Seconds; 0: as usual. */

const units: [name: string, seconds: number][] = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
];

/** longestQuiet is what the server takes at most: a year. */
export const longestQuiet = 365 * 86_400;

/** quietText is what a person types for so many seconds: 2d, 36h, 90m; blank: as usual. */
export function quietText(seconds: number): string {
  if (seconds <= 0) return "";
  const fits = units.find(([, length]) => seconds % length === 0);
  return fits ? `${seconds / fits[1]}${fits[0]}` : `${seconds}s`;
}

/** quietSeconds reads what a person typed; undefined: it is no such time. */
export function quietSeconds(text: string): number | undefined {
  if (text.trim() === "") return 0;
  const parts = /^(\d{1,9})\s*(d|days?|h|hours?|m|min|minutes?|s|seconds?)$/i.exec(text.trim());
  if (!parts) return undefined;
  const length = units.find(([name]) => name === parts[2]?.charAt(0).toLowerCase())?.[1] ?? 1;
  const seconds = Number(parts[1]) * length;
  return seconds <= longestQuiet ? seconds : undefined;
}

const words: Record<string, string> = { d: "day", h: "hour", m: "minute", s: "second" };

/** quietWords says it in words: 2 days. */
export function quietWords(seconds: number): string {
  const text = quietText(seconds);
  return plural(Number(text.slice(0, -1)), words[text.slice(-1)] ?? "second");
}
