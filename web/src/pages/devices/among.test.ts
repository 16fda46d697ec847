import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import type { InventoryDevice } from "../../api/inventory";
import { among } from "./among";

const device = (deviceID: string) => ({ deviceID, label: deviceID.toLowerCase() }) as InventoryDevice;
const all = {
  differences: [
    { key: "options.a", devices: ["A", "B", "C"] },
    { key: "options.b", devices: ["C", "D"] },
    { key: "options.c", devices: ["D"] },
  ],
  failed: [
    { deviceID: "E", error: "template 3 fails" },
    { deviceID: "F", error: "elsewhere" },
  ],
} as Schemas["Differences"];

test("only what is of the given devices is shown, that of most of them first", () => {
  const { differences, failed, differing, narrowed } = among(all, ["C", "D", "E"].map(device));
  expect(differences.map((one) => [one.key, one.who.map((who) => who.label)])).toEqual([
    ["options.b", ["c", "d"]],
    ["options.a", ["c"]],
    ["options.c", ["d"]],
  ]);
  expect(failed.map((one) => [one.device.deviceID, one.error])).toEqual([["E", "template 3 fails"]]);
  expect([differing, narrowed]).toEqual([3, true]);
  expect(among(all, ["A", "B", "C", "D", "E", "F"].map(device)).narrowed).toBe(false);
});

test("nothing is left where no device has a difference", () => {
  expect(among(all, [device("Z")])).toEqual({ differences: [], failed: [], differing: 0, narrowed: true });
});
