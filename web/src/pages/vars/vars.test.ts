import { expect, test } from "vitest";
import { linesOf, parseLines, sameText } from "./vars";

test("vars are one on each line, and the same again when read", () => {
  const vars = { path: "/srv/a=b", limit: 10, number: "10", blank: "", list: [1, "x"], lines: "a\nb", nothing: null };
  const text = linesOf(vars);
  expect(text).toContain("path = /srv/a=b");
  expect(text).toContain('number = "10"');
  expect(text.split("\n")).toHaveLength(7);
  expect(parseLines(text)).toEqual({ vars });
  expect(parseLines("\n\n")).toEqual({ vars: {} });
});

// A var of 9007199254740993 was stored as ...992 with the next change of any other var.
test.each(["9007199254740993", "-9007199254740993", "[1, {\"a\": 12345678901234567890}]"])("%s is not stored rounded", (text) => {
  expect(parseLines(`small = 1\nbig = ${text}`)).toHaveProperty("wrong");
  expect(parseLines(`big = ${JSON.stringify(text)}`)).toEqual({ vars: { big: text } });
  expect(parseLines("most = 9007199254740991\npart = 0.5")).toEqual({ vars: { most: 9007199254740991, part: 0.5 } });
});

test("another order of lines, or blank ones, is no change", () => {
  expect(sameText("b = 2\n\n a=1 ")).toBe("a = 1\nb = 2");
  expect(sameText(" no sign ")).toBe("no sign");
  expect(sameText("a = 1")).not.toBe(sameText('a = "1"'));
});

test.each(["no sign", "a-b = 1", "= 1", "a = 1\nA = 2"])("%j is told to be wrong", (text) => {
  expect(parseLines(text)).toHaveProperty("wrong");
});
