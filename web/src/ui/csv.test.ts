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
  const cell = (text: string) => csvOf([{ a: text }]).slice("a\r\n".length, -"\r\n".length);
  expect(cell("nas;=1")).toBe("nas;'=1");
  expect(cell("nas; +1\t@A1;b=2")).toBe("nas;' +1\t'@A1;b=2");
  expect(cell("\t=1")).toBe("'\t'=1");
  expect(cell("\r=1")).toBe('"\'\r\'=1"');
  expect(cell("x\n-1")).toBe('"x\n\'-1"');
  expect(cell('x;"=1')).toBe('"x;\'""=1"');
  expect(csvOf([{ a: ["x", "=1"] }])).toBe("a\r\nx;' =1\r\n");
  expect(cell("a;b; c-d\te=f")).toBe("a;b; c-d\te=f");
});
