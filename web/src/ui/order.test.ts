import { expect, test } from "vitest";
import { keepOrder } from "./order";

test("what is there already keeps its place, what is gone goes, and what is new comes last", () => {
  expect(keepOrder(["b", "a", "c"], ["new", "a", "b"])).toEqual(["b", "a", "new"]);
  expect(keepOrder([], ["b", "a"])).toEqual(["b", "a"]);
  expect(keepOrder(["b", "a"], [])).toEqual([]);
});
