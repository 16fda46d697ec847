import type { Schemas } from "../../api/client";

type Change = Schemas["WhatIf"];

/**
 * inverseOf is the change that takes a change back; undefined where that does not say what was there before, as
 * one of texts or vars. created are the templates that it made.
 */
export function inverseOf(change: Change, created: number[]): Change | undefined {
  const { templates, tags, ...rest } = change;
  const { new: made, ...others } = templates ?? {};
  const isKnown = [...Object.values(rest), ...Object.values(others)].every(isEmpty);
  if (!isKnown || (made ?? []).length !== created.length) return undefined;
  return {
    ...(created.length > 0 ? { templates: { deleted: created } } : {}),
    ...(tags ? { tags: { added: tags.removed ?? [], removed: tags.added ?? [] } } : {}),
  };
}

const isEmpty = (part: unknown) => Object.keys(part ?? {}).length === 0;
