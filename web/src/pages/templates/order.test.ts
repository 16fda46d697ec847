import { expect, test } from "vitest";
import { compare, moved, type Ordered } from "./order";

const list = (...priorities: number[]): Ordered[] => priorities.map((priority, i) => ({ id: i + 1, priority }));

/** after is the order of the IDs once changes are stored. */
function after(templates: Ordered[], changes: Ordered[]): number[] {
  const now = new Map(changes.map((one) => [one.id, one.priority]));
  return templates
    .map(({ id, priority }) => ({ id, priority: now.get(id) ?? priority }))
    .sort(compare)
    .map((one) => one.id);
}

test("a template goes between two others by one priority where there is room", () => {
  expect(moved(list(10, 20, 30), 2, 1)).toEqual([{ id: 3, priority: 15 }]);
  expect(moved(list(10, 20, 30), 0, 2)).toEqual([{ id: 1, priority: 40 }]);
  expect(moved(list(10, 20, 30), 2, 0)).toEqual([{ id: 3, priority: 0 }]);
  expect(moved(list(10, 20, 30), 1, 1)).toEqual([]);
});

test("every move in every small list gives the order that was asked for", () => {
  for (const priorities of [[10, 20, 30], [5, 5, 5], [1, 2, 3, 4], [0, 0, 1, 1, 2], [-5, 7], [1, 1, 2, 50, 50]]) {
    const templates = list(...priorities);
    for (let from = 0; from < templates.length; from++) {
      for (let to = 0; to < templates.length; to++) {
        const want = templates.map((one) => one.id);
        want.splice(to, 0, ...want.splice(from, 1));
        expect([priorities, from, to, after(templates, moved(templates, from, to))]).toEqual([priorities, from, to, want]);
      }
    }
  }
});
