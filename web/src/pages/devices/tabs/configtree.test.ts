import { expect, test } from "vitest";
import type { PlannedChange } from "../../../api/queries";
import { nodeAt, picked, rowsOf, treeOf, valueOf, valuesOf, type Marks } from "./configtree";

const nas = "AIR6LPZ-7K4PTTV-UXQSMUU-CPQ5YWH-OEDFIIQ-JUG777G-2YQXXR5-YD6AWQR";
const config = {
  version: 52,
  options: { maxSendKbps: 5, listenAddresses: ["default", "tcp://:1"], natEnabled: false },
  devices: [{ deviceID: nas, name: "nas", addresses: ["dynamic"], ignoredFolders: [] }],
  folders: [
    { id: "team.a", label: "Team", path: "/team", devices: [{ deviceID: nas, introducedBy: "" }], versioning: { type: "", params: {} } },
    { id: "b", label: "b", path: "/b" },
  ],
};
const change = (key: string, part: Partial<PlannedChange> = {}) => ({ key, class: "held", ...part }) as PlannedChange;
const marks: Marks = {
  managed: [
    { key: 'folders."team.a"', owner: "template", templates: [3] },
    { key: 'folders."team.a".path', owner: "daemon", templates: [] },
    { key: "options.natEnabled", owner: "template", templates: [1, 2] },
  ],
  changes: [change("options.maxSendKbps"), change("folders.b"), change("options.natEnabled", { class: "skipped" })],
  labels: new Map([[nas, "The NAS"]]),
};
const tree = treeOf(config, marks);
const keys = (search: string, only: "" | "managed" | "waiting" = "") => valuesOf(picked(tree, search, only)).map((one) => one.key);

test("sections are in the order in which people look for them, and lists without identities are values", () => {
  expect(tree.map((one) => one.key)).toEqual(["folders", "devices", "options", "version"]);
  expect(valuesOf(tree).map((one) => one.key)).toEqual([
    ...['folders."team.a".id', 'folders."team.a".label', 'folders."team.a".path'],
    ...[`folders."team.a".devices.${nas}.deviceID`, `folders."team.a".devices.${nas}.introducedBy`],
    ...['folders."team.a".versioning.type', 'folders."team.a".versioning.params', "folders.b.id", "folders.b.label", "folders.b.path"],
    ...[`devices.${nas}.deviceID`, `devices.${nas}.name`, `devices.${nas}.addresses`, `devices.${nas}.ignoredFolders`],
    ...["options.maxSendKbps", "options.listenAddresses", "options.natEnabled", "version"],
  ]);
});

test("folders and devices have labels", () => {
  expect([nodeAt(tree, 'folders."team.a"')?.label, nodeAt(tree, "folders.b")?.label]).toEqual(["Team", ""]);
  expect(nodeAt(tree, `folders."team.a".devices.${nas}`)?.label).toBe("The NAS");
  expect([nodeAt(tree, "folders.gone"), nodeAt(tree, "folders.b.path.x")]).toEqual([undefined, undefined]);
});

test("the nearest mark holds for what is below", () => {
  expect(nodeAt(tree, 'folders."team.a".label')?.owner?.templates).toEqual([3]);
  expect(nodeAt(tree, 'folders."team.a".path')?.owner?.owner).toBe("daemon");
  expect(nodeAt(tree, "folders.b.path")?.waits?.key).toBe("folders.b");
  const folders = nodeAt(tree, "folders");
  expect([folders?.managed, folders?.waiting]).toEqual([6, 3]);
});

test("a search finds keys, values and labels", () => {
  expect(keys("PATH team")).toEqual(['folders."team.a".path']);
  expect(keys("tcp")).toEqual(["options.listenAddresses"]);
  expect(keys("nas deviceid")).toEqual([`folders."team.a".devices.${nas}.deviceID`, `devices.${nas}.deviceID`]);
  expect(keys("nothing of this")).toEqual([]);
});

test("managed and waiting values are picked", () => {
  expect(keys("", "waiting")).toEqual(["folders.b.id", "folders.b.label", "folders.b.path", "options.maxSendKbps"]);
  expect(keys("options", "managed")).toEqual(["options.natEnabled"]);
  expect(keys("path", "managed")).toEqual([]);
});

test("what is below a closed node does not show", () => {
  expect(rowsOf(tree, () => false)).toHaveLength(4);
  expect(rowsOf(tree, ({ depth }) => depth === 0).map((one) => one.name)).toEqual([
    ...["folders", "team.a", "b", "devices", nas, "options", "maxSendKbps", "listenAddresses", "natEnabled", "version"],
  ]);
});

test("a value is written as the daemon has it", () => {
  expect(["a", "", true, 5, null, ["x"], {}].map(valueOf)).toEqual(["a", "", "true", "5", "null", '["x"]', "{}"]);
});
