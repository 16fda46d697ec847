import type { Schemas } from "../../api/client";
import type { Mistake } from "../../ui/Editor";
import type { Problem } from "../../api/problem";

export interface Draft {
  label: string;
  priority: number;
  op: string;
  key: string;
  template: string;
  tags: string[];
}

export const emptyDraft: Draft = { label: "", priority: 100, op: "merge", key: "options", template: "", tags: [] };

export function draftOf(template: Schemas["Template"], tags: string[]): Draft {
  const { label, priority, op, key, template: text } = template;
  return { label, priority, op, key, template: text, tags };
}

/** withText is the draft as it is sent: a removal without a text removes what its key names. */
export function withText(draft: Draft): Draft {
  return draft.op === "remove" && draft.template.trim() === "" ? { ...draft, template: "true" } : draft;
}

/** textOf is equal for two drafts that do the same. */
export function textOf(draft: Draft): string {
  return JSON.stringify({ ...draft, tags: [...draft.tags].sort() });
}

export const isSame = (a: Draft, b: Draft): boolean => textOf(a) === textOf(b);

/** draftToShow is what the editor begins with: the draft that was left there, unless another page hands over a different text. */
export function draftToShow(
  stored: Draft,
  handedOver: Draft | undefined,
  kept: { draft: Draft; isOlder: boolean } | undefined,
): Draft {
  if (!handedOver) return kept?.draft ?? stored;
  return kept && !kept.isOlder ? kept.draft : handedOver;
}

/** changesOf is what saving the draft asks for: a new template, or what differs from the stored one. */
export function changesOf(draft: Draft, stored: { id: number; draft: Draft } | undefined): Schemas["WhatIf"] {
  const { tags, ...fields } = draft;
  if (!stored) return { templates: { new: [{ ...fields, tags }] } };
  const before = stored.draft;
  const changed: Schemas["WhatIfChanged"] = { id: stored.id };
  if (fields.label !== before.label) changed.label = fields.label;
  if (fields.priority !== before.priority) changed.priority = fields.priority;
  if (fields.op !== before.op) changed.op = fields.op;
  if (fields.key !== before.key) changed.key = fields.key;
  if (fields.template !== before.template) changed.template = fields.template;
  const added = tags.filter((tag) => !before.tags.includes(tag)).map((tag) => ({ tag, template: stored.id }));
  const removed = before.tags.filter((tag) => !tags.includes(tag)).map((tag) => ({ tag, template: stored.id }));
  return {
    ...(Object.keys(changed).length > 1 ? { templates: { changed: [changed] } } : {}),
    ...(added.length + removed.length > 0 ? { tags: { added, removed } } : {}),
  };
}

/** mistakesOf are the errors of a problem that have a line. */
export function mistakesOf(problem: Problem | undefined): Mistake[] {
  return (problem?.errors ?? []).flatMap(({ line, column, message }) =>
    line ? [{ line, column: column ?? 1, message }] : [],
  );
}
