import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { Problem } from "../../api/problem";
import { whatIf } from "../../api/whatif";
import { useAllowed } from "./allowed";

type Plan = Schemas["WhatIfPlan"];

/** Planning is the plan of a change, and whether a person allowed what fails in it. */
export interface Planning {
  plan: UseQueryResult<Plan>;
  refusal: Problem | undefined; // why the change is certain to fail on the daemons
  isRefused: boolean; // Nothing is planned until the person allows it.
  allowed: boolean;
  allow: (allowed: boolean) => void;
}

/**
 * usePlan plans a change. A change that is refused because it is certain to fail is planned once a person allows it.
 * What was allowed for one change does not count for another.
 */
export function usePlan(change: Schemas["WhatIf"], enabled: boolean): Planning {
  const [taken, setTaken] = useState<{ change: string; refusal: Problem }>();
  const text = JSON.stringify(change);
  const isTaken = taken?.change === text;
  const plan = useQuery({ ...whatIf(isTaken ? { ...change, allowFailing: true } : change), enabled });
  const [allowed, setAllowed] = useAllowed(plan.data);
  const refusal = isTaken ? taken.refusal : enabled ? certainIn(plan.error) : undefined;
  if (!refusal) return { plan, refusal, isRefused: false, allowed, allow: setAllowed };
  const allow = (yes: boolean) => setTaken(yes ? { change: text, refusal } : undefined);
  return { plan, refusal, isRefused: !isTaken, allowed: isTaken, allow };
}

function certainIn(error: Error | null): Problem | undefined {
  return error instanceof Problem && error.allowFailing ? error : undefined;
}

/** whyRefused says why a refused change is not saved. */
export const whyRefused = "It is certain to fail: mend it, or tick that it is saved all the same.";
