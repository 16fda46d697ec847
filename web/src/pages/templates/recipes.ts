import type { Draft } from "./draft";

export interface Recipe {
  name: string;
  label: string;
  op: "set" | "merge" | "append" | "remove";
  key: string;
  template: (tag: string) => string; // the text for devices with the tag
}

type Begun = Pick<Draft, "template" | "tags">;

/**
 * withTag is what another tag changes in a draft that was begun with a recipe: its text, and the tag among its tags. A
 * text that was edited stays, and so does all that a person typed.
 */
export function withTag(recipe: Recipe, draft: Begun, was: string, tag: string): Partial<Begun> {
  if (draft.template !== recipe.template(was)) return {};
  const at = was === "" ? -1 : draft.tags.indexOf(was);
  const tags = at < 0 ? [...draft.tags, tag] : draft.tags.with(at, tag);
  return { template: recipe.template(tag), tags: [...new Set(tags)].filter((one) => one !== "") };
}

/** recipes are texts to start from, for what no form writes. */
export const recipes: Recipe[] = [
  {
    name: "A folder that all devices with a tag share",
    label: "Team folder",
    op: "merge",
    key: "folders.team",
    template: (tag) => `def template(device):
    return {
        "label": "Team",
        "path": "~/Team",
        "type": "sendreceive",
        "devices": [{"deviceID": d.deviceID} for d in devices(tag=${JSON.stringify(tag)})],
    }
`,
  },
  {
    name: "Devices with a tag know each other",
    label: "They know each other",
    op: "merge",
    key: "devices",
    template: (tag) => `def template(device):
    return [{"deviceID": d.deviceID, "name": d.label} for d in devices(tag=${JSON.stringify(tag)}) if d != device]
`,
  },
  {
    name: "Another value on one system",
    label: "Scan less often on Windows",
    op: "merge",
    key: "folders.*",
    template: () => `def template(device):
    return {"rescanIntervalS": 7200 if device.os == "windows" else 3600}
`,
  },
];
