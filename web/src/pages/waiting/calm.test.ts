import { expect, test } from "vitest";
import { isCalm, quietly } from "./calm";

const calm = {
  ...{ connections: { online: 30 }, devices: 30, folders: { all: 12, upToDate: 12 } },
  ...{ impairments: [], stopCount: 0, trouble: [], troubled: 0 },
};

test("nothing waits only where nothing is in trouble, stopped or impaired, and nobody is asked", () => {
  expect(isCalm(calm, 0)).toBe(true);
  expect(isCalm(calm, 1)).toBe(false);
  expect(isCalm({ ...calm, troubled: 1 }, 0)).toBe(false);
  expect(isCalm({ ...calm, stopCount: 1 }, 0)).toBe(false);
});

test("a fleet of laptops that are closed is calm, and says how many they are", () => {
  expect(quietly(calm)).toEqual([]);
  expect(quietly({ ...calm, connections: { online: 5 }, folders: { all: 12, unknown: 10, syncing: 2 } })).toEqual([
    "25 devices are not online, and none of them for longer than it may be.",
    "Folders that are not up to date, and not for long: 10 unknown, 2 syncing.",
  ]);
});
