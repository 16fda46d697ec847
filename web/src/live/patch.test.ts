import { expect, test } from "vitest";
import type { Inventory } from "../api/inventory";
import { bringsVersion, patchInventory, type LiveEvent } from "./patch";

const row = (label: string, connection = "online") => ({ deviceID: label, label, connection, tags: ["t"] });

const inventory = (...labels: string[]) =>
  ({ total: labels.length, devices: labels.map((label) => row(label)) }) as Inventory;

const event = (type: LiveEvent["type"], device: string, data: unknown) => ({
  id: 1,
  type,
  device,
  tags: [],
  time: "2026-01-01T00:00:00.000Z",
  data,
}) as LiveEvent;

test("the last row of each device is shown, and the order stays", () => {
  const now = patchInventory(inventory("b", "a", "c"), [
    event("inventory", "a", { row: row("a", "unreachable") }),
    event("inventory", "a", { row: row("a", "keyRefused") }),
    event("status", "b", { status: null }),
  ]);
  expect(now.devices.map((one) => [one.deviceID, one.connection])).toEqual([
    ["b", "online"],
    ["a", "keyRefused"],
    ["c", "online"],
  ]);
});

test("a row that did not change is the same object, so that it is not drawn anew", () => {
  const before = inventory("a", "b");
  const now = patchInventory(before, [event("inventory", "a", { row: row("a", "unreachable") })]);
  expect(now.devices[1]).toBe(before.devices[1]);
});

test("a new device comes last", () => {
  const now = patchInventory(inventory("b"), [event("inventory", "a", { row: row("a") })]);
  expect([now.total, now.devices.map((one) => one.deviceID)]).toEqual([2, ["b", "a"]]);
});

test("a device that is registered no more has no row", () => {
  const now = patchInventory(inventory("a", "b"), [
    event("inventory", "a", { row: row("a") }),
    event("device", "a", { deleted: true, state: null }),
  ]);
  expect([now.total, now.devices.map((one) => one.deviceID)]).toEqual([1, ["b"]]);
});

test("what changes no row leaves the answer as it is", () => {
  const before = inventory("a");
  expect(patchInventory(before, [event("rollout", "", {}), event("device", "a", { deleted: false })])).toBe(before);
});

test("a version that no device ran is noticed", () => {
  const known = { devices: [{ ...row("a"), version: "v2.1.0" }, { ...row("b"), version: "" }] } as Inventory;
  const ran = (version: string) => [event("inventory", "b", { row: { ...row("b"), version } })];
  expect([bringsVersion(known, ran("v2.1.0")), bringsVersion(known, ran("v2.2.0")), bringsVersion(known, ran(""))]).toEqual([
    ...[false, true, false],
  ]);
  expect(bringsVersion(known, [event("device", "b", { deleted: true, state: null })])).toBe(false);
});
