import { expect, test } from "vitest";
import type { Inventory } from "../api/inventory";
import { patchInventory, type LiveEvent } from "./patch";

const inventory = (...labels: string[]) =>
  ({
    total: labels.length,
    devices: labels.map((label) => ({ deviceID: label, label, connection: "online", tags: ["t"] })),
  }) as Inventory;

const event = (type: LiveEvent["type"], device: string, data: unknown): LiveEvent => ({
  id: 1,
  type,
  device,
  tags: [],
  time: "2026-01-01T00:00:00.000Z",
  data,
});

test("the last state of each device is in its row, and the order stays", () => {
  const now = patchInventory(inventory("b", "a", "c"), [
    event("device", "a", { deleted: false, state: { connection: "unreachable" } }),
    event("device", "a", { deleted: false, state: { connection: "keyRefused" } }),
    event("status", "b", { status: null }),
  ]);
  expect(now.devices.map((row) => [row.deviceID, row.connection, row.tags])).toEqual([
    ["b", "online", ["t"]],
    ["a", "keyRefused", ["t"]],
    ["c", "online", ["t"]],
  ]);
});

test("a device that is registered no more has no row", () => {
  const now = patchInventory(inventory("a", "b"), [event("device", "a", { deleted: true, state: null })]);
  expect([now.total, now.devices.map((row) => row.deviceID)]).toEqual([1, ["b"]]);
});

test("what changes no row leaves the answer as it is", () => {
  const before = inventory("a");
  expect(patchInventory(before, [event("rollout", "", {})])).toBe(before);
});
