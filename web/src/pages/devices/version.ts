/** A version as its numbers, and what comes before its release: v2.1.0-rc.2 is before v2.1.0. */
interface Version {
  numbers: number[];
  before: string; // "rc.2"; blank for a release
}

const core = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?!\d)/;
const candidate = /^-((?:alpha|beta|rc|pre|dev)\b.*)$/;
const collator = new Intl.Collator("en", { numeric: true });

function read(text: string): Version | undefined {
  const found = core.exec(text);
  if (!found) return undefined;
  return {
    numbers: found.slice(1).map((digits: string | undefined) => Number(digits ?? 0)),
    before: candidate.exec(text.slice(found[0].length))?.[1] ?? "",
  };
}

function compare(a: Version, b: Version): number {
  for (const [i, n] of a.numbers.entries()) if (n !== b.numbers[i]) return n - (b.numbers[i] ?? 0);
  if (a.before === "" || b.before === "") return Number(a.before === "") - Number(b.before === "");
  return collator.compare(a.before, b.before);
}

/** compareVersions orders versions as the server does; texts that are no versions come first. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [read(a), read(b)];
  if (!first || !second) return Number(Boolean(first)) - Number(Boolean(second)) || collator.compare(a, b);
  return compare(first, second) || collator.compare(a, b);
}

/** versionIs tells whether a version is what a filter asks for: that one, or one before or after it, as in <2 and >=2.1. */
export function versionIs(version: string, asked: string): boolean {
  const [, relation = "", bound = ""] = /^([<>]=?) *(.*)$/.exec(asked) ?? [];
  if (relation === "") return version === asked;
  const [one, other] = [read(version), read(bound)];
  if (!one || !other) return false;
  const order = compare(one, other);
  return order === 0 ? relation.endsWith("=") : order < 0 === relation.startsWith("<");
}

/** versionWords are a filter by version in words. */
export function versionWords(asked: string): string {
  const [, relation, bound = ""] = /^([<>]=?) *(.*)$/.exec(asked) ?? [];
  const words: Record<string, string> = { "<": "Before", "<=": "Up to", ">": "After", ">=": "From" };
  return relation === undefined ? asked : `${words[relation] ?? ""} ${bound}`;
}
