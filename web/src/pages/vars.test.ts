import { expect, test } from "vitest";
import { linesOf, parseLines } from "./vars";

test("vars are one on each line, and the same again when read", () => {
  const vars = { path: "/srv/a=b", limit: 10, number: "10", blank: "", list: [1, "x"], lines: "a\nb", nothing: null };
  const text = linesOf(vars);
  expect(text).toContain("path = /srv/a=b");
  expect(text).toContain('number = "10"');
  expect(text.split("\n")).toHaveLength(7);
  expect(parseLines(text)).toEqual({ vars });
  expect(parseLines("\n\n")).toEqual({ vars: {} });
});

test.each(["no sign", "a-b = 1", "= 1", "a = 1\nA = 2"])("%j is told to be wrong", (text) => {
  expect(parseLines(text)).toHaveProperty("wrong");
});
