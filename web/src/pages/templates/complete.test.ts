import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { completions, fieldsAt, keysOf } from "./complete";

const config = {
  version: 37,
  folders: [{ id: "a.b", label: "x", devices: [{ deviceID: "AAA", introducedBy: "" }] }, { nonsense: true }],
  options: { listenAddresses: ["default"], maxSendKbps: 0 },
  gui: { user: "" },
};

test("keys of a configuration", () => {
  const keys = keysOf(config);
  expect(keys).toEqual(
    expect.arrayContaining(["options", "options.maxSendKbps", "folders.*.label", 'folders."a.b".devices.AAA.introducedBy']),
  );
  expect(keys).not.toContain("version");
  expect(keysOf("no configuration")).toEqual([]);
  expect(keysOf(config, 3)).toHaveLength(3);
});

test("fields below a key, in any letter case", () => {
  expect(fieldsAt(keysOf(config), "Options")).toEqual(["listenAddresses", "maxSendKbps"]);
  expect(fieldsAt(keysOf(config), "")).toEqual(["folders", "gui", "options"]);
  expect(fieldsAt(keysOf(config), "folders.*")).toEqual(["devices", "id", "label"]);
});

const source = completions({ fields: ["maxSendKbps"], tags: ["site:lima"], secrets: ["gui-password"] });
const proposed = (text: string) => {
  const result = source(new CompletionContext(EditorState.create({ doc: text }), text.length, false));
  return (result as { options: { label: string }[] } | null)?.options.map((option) => option.label) ?? [];
};

test.each([
  ["{\n  max", ["maxSendKbps"]],
  ['"${secret:g', ["gui-password"]],
  ['def template():\n    return devices(tag="', ["site:lima"]],
  ["def template(device):\n    return device.", "label"],
  ["{\n  ", []],
])("%j", (text, want) => {
  const labels = proposed(text);
  if (typeof want === "string") expect(labels).toContain(want);
  else expect(labels).toEqual(want);
});
