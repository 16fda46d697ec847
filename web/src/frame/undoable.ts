import type { Schemas } from "../api/client";

/** undoable is the newest rollout, if it can be undone. */
export function undoable(rollouts: Schemas["Rollout"][]): { id: number; cause: string } | undefined {
  const newest = rollouts.reduce<Schemas["Rollout"] | undefined>((best, one) => (best && best.id > one.id ? best : one), undefined);
  if (!newest || newest.status === "undone" || newest.status === "superseded") return undefined;
  return { id: newest.id, cause: newest.cause };
}
