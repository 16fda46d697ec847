import { api } from "../../api/client";
import { done } from "../../ui/act";
import { ofGeneration } from "./ofgeneration";
import { UndoRollout } from "./UndoDialog";

const mostRead = 50; // rollouts: the newest ones
const mostReads = 8;
const between = 400; // ms

/**
 * doneIn tells that a change is stored. Where a rollout brings it to devices, the message has a link to that and a button
 * that undoes it. The rollout begins a moment after the change.
 */
export async function doneIn(message: string, generation: number): Promise<void> {
  const link = done(message);
  for (let i = 0; i < mostReads; i++) {
    const { data } = await api.GET("/api/v1/rollouts", { params: { query: { limit: mostRead } } }).catch(() => ({ data: [] }));
    const id = ofGeneration(data ?? [], generation);
    if (id !== undefined) return link({ says: `Rollout ${id}`, href: `/rollouts/${id}`, also: <UndoRollout id={id} /> });
    await new Promise((resolve) => setTimeout(resolve, between));
  }
}
