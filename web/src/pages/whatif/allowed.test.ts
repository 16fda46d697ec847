import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { isFor } from "./allowed";

const plan = (generation: number, failed: number) =>
  ({ generation, touched: { failed }, broken: [] }) as unknown as Schemas["WhatIfPlan"];

test("a tick that was given for one plan does not count for another", async () => {
  const client = new QueryClient();
  const fetched = async (body: Schemas["WhatIf"], answer: Schemas["WhatIfPlan"]) => {
    const queryKey = ["what-if", body];
    await client.query({ queryKey, staleTime: 0, queryFn: () => Promise.resolve(answer) });
    return client.getQueryData<Schemas["WhatIfPlan"]>(queryKey);
  };
  const body = { templates: { deleted: [1] } };
  const ticked = await fetched(body, plan(1, 2));
  expect(isFor(ticked, ticked)).toBe(true);
  expect(isFor(ticked, await fetched(body, plan(1, 2)))).toBe(true);
  expect(isFor(ticked, undefined)).toBe(false); // The next plan is being made.
  expect(isFor(undefined, undefined)).toBe(false);
  expect(isFor(ticked, await fetched({ templates: { deleted: [2] } }, plan(1, 2)))).toBe(false);
  expect(isFor(ticked, await fetched(body, plan(1, 3)))).toBe(false);
  expect(isFor(ticked, await fetched(body, plan(2, 3)))).toBe(false);
});
