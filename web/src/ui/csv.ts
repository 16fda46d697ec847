/** A row of a table as the API has it. */
export type Exported = object;

// A spreadsheet takes a cell that begins so for a formula, and would carry out what somebody has put into a name. The wide
// forms are the same signs of East Asian keyboards.
const formula = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

// Where a spreadsheet splits at semicolons or tabs, more cells begin within one of ours, and quotes do not keep them together.
const split = /(?<=[;\t\r\n])/;
const laterFormula = /^[\s"]*[=+\-@＝＋－＠]/;

/** csvOf is rows as a table with a heading: one column for each field, those of objects as outer.inner. */
export function csvOf(rows: readonly Exported[]): string {
  const flat = rows.map((row) => flattened(row));
  const names = new Set(flat.flatMap((row) => [...row.keys()]));
  const lines = [[...names].map((name) => quoted(safe(name))), ...flat.map((row) => [...names].map((name) => cellOf(row.get(name))))];
  return lines.map((cells) => `${cells.join(",")}\r\n`).join("");
}

function flattened(row: object, prefix = "", into = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    const key = prefix + name;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) flattened(value as object, `${key}.`, into);
    else into.set(key, value);
  }
  return into;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return quoted(safe(textOf(value)));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const isPlain = Array.isArray(value) && value.every((one) => typeof one === "string" || typeof one === "number");
  return isPlain ? value.join("; ") : JSON.stringify(value);
}

/** safe puts an apostrophe before what a spreadsheet would take for a formula: it shows the text then. */
function safe(text: string): string {
  const [first = "", ...later] = text.split(split);
  const rest = later.map((part) => (laterFormula.test(part) ? `'${part}` : part)).join("");
  return (formula.test(text) ? "'" : "") + first + rest;
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
