import { expect, test } from "vitest";
import { sectionsOf } from "./sections";

test("the sections of a difference are its parts, and single folders and devices", () => {
  expect(
    sectionsOf(['folders."a.b".path', "folders.c", "options.natEnabled", "gui.user", "options.maxSendKbps", ""]),
  ).toEqual(["folders", 'folders."a.b"', "folders.c", "gui", "options"]);
});
