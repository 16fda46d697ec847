import { expect, test } from "vitest";
import { Problem } from "../../api/problem";
import { changesOf, emptyDraft, isSame, mistakesOf, withText, draftToShow } from "./draft";

const stored = { id: 7, draft: { ...emptyDraft, label: "a", template: "{}", tags: ["x", "y"] } };

test("a new template comes with its tags", () => {
  expect(changesOf({ ...emptyDraft, tags: ["x"] }, undefined)).toEqual({
    templates: { new: [{ label: "", priority: 100, op: "merge", key: "options", template: "", tags: ["x"] }] },
  });
});

test("only what differs is sent", () => {
  expect(changesOf(stored.draft, stored)).toEqual({});
  expect(changesOf({ ...stored.draft, template: "{a: 1}" }, stored)).toEqual({
    templates: { changed: [{ id: 7, template: "{a: 1}" }] },
  });
  expect(changesOf({ ...stored.draft, tags: ["y", "z"] }, stored)).toEqual({
    tags: { added: [{ tag: "z", template: 7 }], removed: [{ tag: "x", template: 7 }] },
  });
});

test("a removal needs no text", () => {
  expect(withText({ ...emptyDraft, op: "remove", template: " \n" }).template).toBe("true");
  expect(withText({ ...emptyDraft, op: "remove", template: "[1]" }).template).toBe("[1]");
  expect(withText(emptyDraft).template).toBe("");
});

test("the order of tags is no change", () => {
  expect(isSame(stored.draft, { ...stored.draft, tags: ["y", "x"] })).toBe(true);
  expect(isSame(stored.draft, { ...stored.draft, priority: 1 })).toBe(false);
});

test("mistakes are those with a line", () => {
  const problem = new Problem({
    detail: "wrong",
    errors: [{ message: "a", line: 3, column: 5 }, { message: "b", line: 4 }, { message: "c", field: "key" }],
  });
  expect(mistakesOf(problem)).toEqual([
    { line: 3, column: 5, message: "a" },
    { line: 4, column: 1, message: "b" },
  ]);
  expect(mistakesOf(undefined)).toEqual([]);
});

test("the editor shows what was left there, and a text that another page hands over before that", () => {
  const [stored, handed, left] = ["stored", "handed", "left"].map((label) => ({ ...emptyDraft, label }));
  if (!stored || !handed || !left) throw new Error("three drafts");
  expect(draftToShow(stored, undefined, undefined)).toBe(stored);
  expect(draftToShow(stored, undefined, { draft: left, isOlder: true })).toBe(left);
  expect(draftToShow(stored, handed, undefined)).toBe(handed);
  expect(draftToShow(stored, handed, { draft: left, isOlder: true })).toBe(handed); // It began with something else.
  expect(draftToShow(stored, handed, { draft: left, isOlder: false })).toBe(left);
});
