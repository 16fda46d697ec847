import { expect, test } from "vitest";
import { ofGeneration } from "./ofgeneration";

test("a change goes out with the oldest rollout that has its generation", () => {
  const newestFirst = [
    { id: 3, before: 5, generation: 9 },
    { id: 2, before: 4, generation: 6 },
    { id: 1, before: 1, generation: 4 },
  ];
  expect([4, 5, 6, 9, 10, 1].map((generation) => ofGeneration(newestFirst, generation))).toEqual([1, 2, 2, 3, undefined, undefined]);
});
