import { expect, test } from "vitest";
import { leftOf } from "./again";
import type { Order } from "./words";

const device = (label: string, state: Order["devices"][number]["state"]) => ({ deviceID: label, label, state });
const order = (status: Order["status"], devices: Order["devices"]): Order => ({
  ...{ id: 1, type: "rescan", tag: "", folder: "", major: false, goOn: true, reason: "", by: "anna", beganAt: "", endedAt: null },
  ...{ status, devices, total: devices.length, done: devices.length, skipped: 0, failed: 0 },
});

const devices = [
  device("a", "done"),
  device("b", "failed"),
  device("c", "skipped"),
  device("d", "unknown"),
  device("e", "untouched"),
];

test("an order is given again to those on which it was not carried out, by what became of them", () => {
  const left = leftOf(order("failed", devices)).map((one) => [one.says, ...one.devices.map(({ label }) => label)]);
  expect(left).toEqual([
    ["on which it failed", "b", "d"],
    ["that could not be reached", "c"],
    ["that it did not come to", "e"],
  ]);
});

test("an order that is under way, or was carried out everywhere, is given to nobody again", () => {
  expect(leftOf(order("running", devices))).toEqual([]);
  expect(leftOf(order("done", devices.slice(0, 1)))).toEqual([]);
});
