import { expect, test } from "vitest";
import { onStored, restoredFrom } from "./keptdraft";

const text = (value: { tags: string[] }) => JSON.stringify([...value.tags].sort());
const kept = (base: string[], draft: unknown) => JSON.stringify({ base: text({ tags: base }), draft });

test("a form that was left comes back, and tells when somebody else has stored something since", () => {
  const draft = { tags: ["a", "b"] };
  expect(restoredFrom(kept([], draft), { tags: [] }, text)).toEqual({ draft, isOlder: false });
  expect(restoredFrom(kept([], draft), { tags: ["c"] }, text)).toEqual({ draft, isOlder: true });
  expect(restoredFrom(kept([], draft), { tags: ["b", "a"] }, text)).toBeUndefined();
  const atNoon = JSON.stringify({ base: text({ tags: [] }), draft, at: 12 });
  expect(restoredFrom(atNoon, { tags: [] }, text)).toEqual({ draft, isOlder: false, at: 12 });
  for (const damaged of [null, "", "{", "null", "7", kept([], { tags: 7 }), kept([], undefined)]) {
    expect(restoredFrom(damaged, { tags: [] }, text)).toBeUndefined();
  }
});

test("what somebody else stores is told of only while it differs from what is filled in", () => {
  expect(onStored("b", "a", "a")).toBe("show");
  expect(onStored("b", "a", "c")).toBe("theirs");
  expect(onStored("c", "a", "c")).toBe("keep"); // one's own, read before the answer to its request
  expect(onStored("a", "a", "c")).toBe("go on"); // theirs was undone
});
