import type { Schemas } from "../../api/client";

interface Carriers {
  devices: string[];
  templates: string[]; // IDs
}

/** tagChanges is what has to be added and removed for a tag to be carried by others. */
export function tagChanges(tag: string, before: Carriers, after: Carriers): Required<Schemas["WhatIfTags"]> {
  const only = (some: Carriers, other: Carriers) => [
    ...some.devices.filter((id) => !other.devices.includes(id)).map((device) => ({ tag, device })),
    ...some.templates.filter((id) => !other.templates.includes(id)).map((id) => ({ tag, template: Number(id) })),
  ];
  return { added: only(after, before), removed: only(before, after) };
}
