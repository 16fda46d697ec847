import { api } from "../../api/client";
import { done } from "../../ui/act";

const mostRead = 50; // rollouts: the newest ones

/** doneIn tells that a change is stored, with a link to the rollout that brings it to devices, where there is one. */
export async function doneIn(message: string, generation: number): Promise<void> {
  const { data } = await api.GET("/api/v1/rollouts", { params: { query: { limit: mostRead } } }).catch(() => ({ data: [] }));
  const id = rolloutOf(data ?? [], generation);
  done(message, id === undefined ? undefined : { says: `Rollout ${id}`, href: `/rollouts/${id}` });
}

/** rolloutOf is the rollout that brings a generation to devices: the oldest that has it. */
export function rolloutOf(
  rollouts: { id: number; before: number; generation: number }[],
  generation: number,
): number | undefined {
  return rollouts.findLast((one) => one.before < generation && generation <= one.generation)?.id;
}
