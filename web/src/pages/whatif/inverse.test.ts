import { expect, test } from "vitest";
import { inverseOf } from "./inverse";

const template = { label: "", priority: 1, op: "set", key: "options.natEnabled", template: "true", tags: ["all"] };

test("new templates and tags are taken back", () => {
  expect(inverseOf({ templates: { new: [template] } }, [7])).toEqual({ templates: { deleted: [7] } });
  const added = [{ tag: "a", device: "X" }];
  const removed = [{ tag: "b", template: 3 }];
  expect(inverseOf({ tags: { added, removed } }, [])).toEqual({ tags: { added: removed, removed: added } });
});

test("what does not say what was there before is not taken back", () => {
  expect(inverseOf({ templates: { changed: [{ id: 3, label: "x" }] } }, [])).toBeUndefined();
  expect(inverseOf({ templates: { deleted: [3] } }, [])).toBeUndefined();
  expect(inverseOf({ vars: { tags: { a: { x: 1 } } } }, [])).toBeUndefined();
  expect(inverseOf({ templates: { new: [template] } }, [])).toBeUndefined(); // It is not known which one it became.
});
