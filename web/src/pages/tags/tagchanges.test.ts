import { expect, test } from "vitest";
import { tagChanges } from "./tagchanges";

test("what carries a tag before and after gives what is added and removed", () => {
  const before = { devices: ["A", "B"], templates: ["1"] };
  expect(tagChanges("x", before, { devices: ["B", "C"], templates: ["1", "2"] })).toEqual({
    added: [
      { tag: "x", device: "C" },
      { tag: "x", template: 2 },
    ],
    removed: [{ tag: "x", device: "A" }],
  });
  expect(tagChanges("x", before, before)).toEqual({ added: [], removed: [] });
});
