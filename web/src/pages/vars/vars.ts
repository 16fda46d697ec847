import { parsed, Whole } from "../../api/digits";

/** Values are vars by name. */
export type Values = Record<string, unknown>;

/** linesOf writes vars down: one on each line, a text without quotes where it is one without them. */
export function linesOf(vars: Values): string {
  return Object.keys(vars)
    .sort()
    .map((name) => `${name} = ${written(vars[name])}`)
    .join("\n");
}

/** written is a value as a line of vars has it. */
export function written(value: unknown): string {
  if (typeof value === "string" && value !== "" && value.trim() === value && !/[\r\n]/.test(value) && read(value) === value) {
    return value;
  }
  return JSON.stringify(value);
}

/** sameText is equal for two texts that say the same vars. */
export function sameText(text: string): string {
  const said = parseLines(text);
  return "vars" in said ? linesOf(said.vars) : text.trim();
}

/** read is JSON where the text is JSON, and else the text. */
function read(text: string): unknown {
  try {
    return parsed(text);
  } catch {
    return text;
  }
}

/** losesDigits tells whether a value has a whole number that a browser does not keep exactly. */
export function losesDigits(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && !(value instanceof Whole) && Object.values(value).some(losesDigits);
}

/** parseLines reads what linesOf writes, or says what is wrong with a line. */
export function parseLines(text: string): { vars: Values } | { wrong: string } {
  const vars: Values = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const name = line.slice(0, Math.max(at, 0)).trim();
    if (at < 0 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      return { wrong: `Write NAME = VALUE, with letters, digits and _ in the name, not ${JSON.stringify(line.slice(0, 60))}` };
    }
    if (Object.keys(vars).some((other) => other.toLowerCase() === name.toLowerCase())) return { wrong: `${name} is there twice` };
    const value = read(line.slice(at + 1).trim());
    if (losesDigits(value)) {
      return {
        wrong:
          `${name} has a whole number of which a browser keeps 15 digits only: write it in quotes, as a text, or type ` +
          "`muster device vars DEVICE NAME=VALUE` or `muster tag vars TAG NAME=VALUE`. The last digits here may be wrong",
      };
    }
    vars[name] = value;
  }
  return { vars };
}
