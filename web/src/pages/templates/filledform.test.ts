import { expect, test } from "vitest";
import { begun, filled, missing, settingAt, type Kind, type Setting } from "./filledform";

const plain = { required: false, least: 0, most: 0 };
const kind: Kind = {
  name: "versioning",
  title: "Keep earlier versions",
  help: "",
  fields: [
    { ...plain, name: "tags", label: "Devices", type: "tags", required: true },
    { ...plain, name: "type", label: "How", type: "choice", required: true, default: "trashcan" },
    { ...plain, name: "keep", label: "Versions", type: "number", required: true, default: "5", onlyIf: { field: "type", is: ["simple"] } },
  ],
};

test("a new form has the defaults, and sends only fields that apply", () => {
  const entered = begun(kind);
  expect(missing(kind, entered)).toBe("Fill in: Devices.");
  entered.fields.tags = ["b", " ", "a"];
  expect(missing(kind, entered)).toBe("");
  expect(filled(kind, entered).fields).toEqual({ tags: ["a", "b"], type: ["trashcan"] });
  entered.fields.type = ["simple"];
  expect(filled(kind, entered).fields).toEqual({ tags: ["a", "b"], type: ["simple"], keep: ["5"] });
  expect(missing(kind, { ...entered, fields: { ...entered.fields, keep: [""] } })).toBe("Fill in: Versions.");
});

test("a stored form begins with its own values", () => {
  expect(begun(kind, "Old", { tags: ["a"], type: ["simple"], keep: ["9"] })).toEqual({
    label: "Old",
    fields: { tags: ["a"], type: ["simple"], keep: ["9"] },
  });
});

test("the key of one folder names the setting of every folder", () => {
  const of = (key: string): Setting => ({ key, type: "flag", default: ["false"], help: "" });
  const settings = [of("folders.*.paused"), of("options.natEnabled"), of("defaults.folder.paused")];
  expect(settingAt(settings, 'folders."a.b".paused')?.key).toBe("folders.*.paused");
  expect(settingAt(settings, "folders.*.Paused")?.key).toBe("folders.*.paused");
  expect(settingAt(settings, " options.NATEnabled")?.key).toBe("options.natEnabled");
  expect(settingAt(settings, "defaults.folder.paused")?.key).toBe("defaults.folder.paused");
  expect(settingAt(settings, "options.nat")).toBeUndefined();
});
