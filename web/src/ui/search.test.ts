import { expect, test } from "vitest";
import { typedEarly } from "./search";

const plain = { ctrlKey: false, metaKey: false, altKey: false, isComposing: false };

test("letters that are typed before the search has the focus are kept, and no other key", () => {
  expect(typedEarly("", { ...plain, key: "n" })).toBe("n");
  expect(typedEarly("na", { ...plain, key: "\u{1F600}" })).toBe("na\u{1F600}");
  expect(typedEarly("na\u{1F600}", { ...plain, key: "Backspace" })).toBe("na");
  expect(typedEarly("", { ...plain, key: "Backspace" })).toBe("");
  for (const key of ["Enter", "Escape", "Tab", "ArrowDown", "Shift", "Dead"]) {
    expect(typedEarly("na", { ...plain, key })).toBeUndefined();
  }
  for (const held of ["ctrlKey", "metaKey", "altKey", "isComposing"]) {
    expect(typedEarly("na", { ...plain, [held]: true, key: "k" })).toBeUndefined();
  }
});
