import { expect, test } from "vitest";
import { readSaved, whyNot, withSaved } from "./savedfilters";

const held = { name: "Held", address: "state=held" };

test("filters are kept by name, one for each", () => {
  const both = withSaved([held], { name: "Behind", address: "folderState=behind" });
  expect(both.map(({ name }) => name)).toEqual(["Behind", "Held"]);
  expect(withSaved(both, { name: "Held", address: "state=failed" })).toEqual([
    { name: "Behind", address: "folderState=behind" },
    { name: "Held", address: "state=failed" },
  ]);
});

test("what the browser has kept is read with care", () => {
  expect(readSaved(JSON.stringify([held, null, 3, { name: "" , address: "" }, { name: "x" }]))).toEqual([held]);
  for (const text of [null, "", "no JSON", "{}", "null"]) expect(readSaved(text)).toEqual([]);
});

test("a filter that cannot be kept says why", () => {
  expect(whyNot([], held)).toBe("");
  expect(whyNot([], { name: " ", address: "" })).toContain("name");
  expect(whyNot([], { name: "x".repeat(61), address: "" })).toContain("60");
  expect(whyNot([], { name: "x", address: "q=".padEnd(2001, "x") })).toContain("too long");
  const full = Array.from({ length: 50 }, (_, i) => ({ name: String(i), address: "" }));
  expect(whyNot(full, held)).toContain("Delete one");
  expect(whyNot(full, { name: "7", address: "q=x" })).toBe("");
});
