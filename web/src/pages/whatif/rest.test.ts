import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { restOf } from "./rest";

const change = (key: string, kind: string) => ({ key, class: kind, from: null, to: 1 }) as unknown as Schemas["PlannedChange"];
const device = (deviceID: string, changes: Schemas["PlannedChange"][]) =>
  ({ deviceID, label: deviceID, changes, dropped: [], error: "", failsNow: false, unread: false });

test("the plan of a removal counts what the devices that stay lose, and nothing of those that are removed", () => {
  const plan = {
    devices: [
      device("GONE", [change("options.natEnabled", "free"), change("folders.a", "free")]),
      device("STAYS", [change("folders.b.devices", "held"), change("folders.b.label", "free"), change("gui.user", "skipped")]),
      device("REFUSES", [change("gui.apiKey", "refused")]),
    ],
    touched: { devices: 3, failed: 0, folders: 2, held: 1, keys: 4, refused: 1, unread: 0 },
    summary: { sentences: [{ text: "options.natEnabled becomes off on GONE" }] },
    waves: [1, 2],
    approval: "it touches more devices than half",
  } as unknown as Schemas["WhatIfPlan"];
  const rest = restOf(plan, new Set(["GONE"]));
  expect(rest.devices.map(({ deviceID }) => deviceID)).toEqual(["STAYS", "REFUSES"]);
  expect(rest.touched).toEqual({ devices: 1, failed: 0, folders: 1, held: 1, keys: 2, refused: 1, unread: 0 });
  expect([rest.summary.sentences, rest.waves, rest.approval]).toEqual([[], [], ""]);
});
