import { expect, test } from "vitest";
import type { InventoryDevice } from "../api/inventory";
import { causesOf } from "./waiting";

const row = (label: string, part: Partial<InventoryDevice>) => ({ label, reason: "", next: "", ...part }) as InventoryDevice;

test("devices that wait for the same are one cause, whatever their address is", () => {
  const causes = causesOf([
    row("a", { connection: "online", configuration: "inSync" }),
    row("b", { connection: "keyRefused", configuration: "unknown", reason: "10.0.0.7:8384 refuses the key" }),
    row("c", { connection: "keyRefused", configuration: "unknown", reason: "[fe80::1]:8384 refuses the key" }),
    row("d", { connection: "online", configuration: "failed", reason: "template 3: line 2" }),
    row("e", { connection: "online", configuration: "held", reason: "is in the list of consents" }),
    row("f", { connection: "unreachable", configuration: "unknown", reason: "comes back by itself" }),
  ]);
  expect(causes.map((cause) => [cause.kind, cause.devices.map((device) => device.label)])).toEqual([
    ["failed", ["d"]],
    ["keyRefused", ["b", "c"]],
  ]);
});
