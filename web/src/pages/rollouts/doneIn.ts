import { api } from "../../api/client";
import { done } from "../../ui/act";
import { ofGeneration } from "./ofgeneration";

const mostRead = 50; // rollouts: the newest ones

/** doneIn tells that a change is stored, with a link to the rollout that brings it to devices, where there is one. */
export async function doneIn(message: string, generation: number): Promise<void> {
  const { data } = await api.GET("/api/v1/rollouts", { params: { query: { limit: mostRead } } }).catch(() => ({ data: [] }));
  const id = ofGeneration(data ?? [], generation);
  done(message, id === undefined ? undefined : { says: `Rollout ${id}`, href: `/rollouts/${id}` });
}
