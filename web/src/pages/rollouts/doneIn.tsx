import { api, ask, type Schemas } from "../../api/client";
import { done } from "../../ui/act";
import { ofGeneration } from "./ofgeneration";
import { UndoRollout } from "./UndoDialog";

const mostRead = 50; // rollouts: the newest ones
const mostReads = 5;
const between = 400; // ms

/**
 * doneIn tells that a change is stored. Where a rollout brings it to devices, the message has a link to that and a button
 * that undoes it. The rollout begins a moment after the change. Without one, back is the change that takes it back.
 */
export async function doneIn(message: string, generation: number, back?: Schemas["WhatIf"]): Promise<void> {
  const told = done(message);
  for (let i = 0; i < mostReads; i++) {
    const { data } = await api.GET("/api/v1/rollouts", { params: { query: { limit: mostRead } } }).catch(() => ({ data: [] }));
    const id = ofGeneration(data ?? [], generation);
    if (id !== undefined) return told.link({ says: `Rollout ${id}`, href: `/rollouts/${id}`, also: <UndoRollout id={id} /> });
    await new Promise((resolve) => setTimeout(resolve, between));
  }
  // A change of few devices has no rollout. It is taken back only while nothing else was changed.
  if (back) told.undo(() => ask(api.POST("/api/v1/changes", { body: { ...back, generation } })));
}
