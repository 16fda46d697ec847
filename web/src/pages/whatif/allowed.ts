import { useState } from "react";
import type { Schemas } from "../../api/client";

type Plan = Schemas["WhatIfPlan"];

/**
 * isFor reports whether a tick was given for this plan. A plan that is fetched again and is equal stays the same object
 * (TanStack Query keeps it), so the tick lasts; any other plan is another object.
 */
export function isFor(ticked: Plan | undefined, plan: Plan | undefined): boolean {
  return plan !== undefined && ticked === plan;
}

/** useAllowed keeps whether a person allowed that a plan fails for devices. It is false again once the plan is another. */
export function useAllowed(plan: Plan | undefined): [allowed: boolean, allow: (allowed: boolean) => void] {
  const [ticked, setTicked] = useState<Plan>();
  return [isFor(ticked, plan), (allowed) => setTicked(allowed ? plan : undefined)];
}
