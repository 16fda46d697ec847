import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { csvOf } from "./csv";

test("a table has a column for each field of any row", () => {
  const rows = [
    { label: "nas", tags: ["a", "b"], folders: { all: 2, upToDate: 1 }, diskFree: null },
    { label: "laptop", tags: [], folders: { all: 0 }, next: true, needBytes: -5 },
  ];
  expect(csvOf(rows)).toBe(
    "label,tags,folders.all,folders.upToDate,diskFree,next,needBytes\r\n" + "nas,a; b,2,1,,,\r\n" + "laptop,,0,,,true,-5\r\n",
  );
  expect(csvOf([])).toBe("\r\n");
});

test("commas, quotes and lines stay in their cell", () => {
  expect(csvOf([{ a: 'x, "y"\nz', b: " edge" }])).toBe('a,b\r\n"x, ""y""\nz"," edge"\r\n');
  expect(csvOf([{ a: [{ b: 1 }] }])).toBe('a\r\n"[{""b"":1}]"\r\n');
});

test("a name that is a formula was carried out by the spreadsheet", () => {
  for (const name of ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", " =1", "＝1"]) {
    const cell = csvOf([{ a: name }]).slice("a\r\n".length, -"\r\n".length);
    expect(cell.replace(/^"/, "")).toBe(`'${name}` + (cell.startsWith('"') ? '"' : ""));
  }
  expect(csvOf([{ "=a": [["=1", "x"]].flat() }])).toBe("'=a\r\n'=1; x\r\n");
  expect(csvOf([{ a: "a=1", b: "1-2" }])).toBe("a,b\r\na=1,1-2\r\n");
});

test("a formula behind a semicolon or a tab began a cell where the spreadsheet splits there", () => {
  const path = new URL("../../../internal/edge/cli/testdata/csv-cells.json", import.meta.url); // the cases of the command line, too
  const cases = JSON.parse(readFileSync(path, "utf8")) as { text: string; cell: string }[];
  expect(cases.length).toBeGreaterThan(20);
  for (const { text, cell } of cases) {
    const got = csvOf([{ a: text }]).slice("a\r\n".length, -"\r\n".length);
    expect(got.startsWith('"') ? got.slice(1, -1).replaceAll('""', '"') : got).toBe(cell);
  }
  expect(csvOf([{ a: ["x", "=1"] }])).toBe("a\r\nx;' =1\r\n");
});
