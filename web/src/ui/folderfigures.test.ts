import { expect, test } from "vitest";
import { completion, ending, isCurrent, lackOfAll, missing, pace, unknownOn } from "./folderfigures";
import { folderStates } from "./folderwords";

const figures = (state: string, part = {}) => ({
  ...{ state, paused: false, globalBytes: 1000, needBytes: 0, needItems: 0, needDeletes: 0, rate: 0, doneBetween: [] },
  ...part,
});

test("no state but up to date is green, or has all of a folder", () => {
  for (const state of [...Object.keys(folderStates), "a state of tomorrow"]) {
    const isGood = state === "upToDate";
    expect([state, folderStates[state]?.tone === "good"]).toEqual([state, isGood]);
    expect([state, completion(figures(state)) === 100]).toEqual([state, isGood]);
    expect([state, (completion(figures(state, { needBytes: 1 })) ?? 0) < 100]).toEqual([state, true]);
  }
});

test.each(["unknown", "stopped", "paused", "unshared", "alone"])("%s has no percentage, no rate and no end", (state) => {
  const told = figures(state, { needBytes: 10, rate: 5, doneBetween: ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"] });
  expect([isCurrent(told), completion(told), pace(told), ending(told, new Date("2026-01-01T00:00:00Z"))]).toEqual([
    false,
    undefined,
    "",
    "",
  ]);
});

test("a paused folder has no percentage, whatever its state", () => {
  expect(completion(figures("upToDate", { paused: true }))).toBeUndefined();
});

test.each([
  [{ needBytes: 1000 }, 0],
  [{ needBytes: 1 }, 99],
  [{ needBytes: 500 }, 50],
  [{ needBytes: 2000 }, 0],
  [{ needItems: 3 }, 99],
  [{ needDeletes: 3 }, 99],
  [{ needBytes: 5, globalBytes: 0 }, 99],
  [{ needBytes: -5 }, undefined],
])("%o is %s percent", (part, want) => expect(completion(figures("syncing", part))).toBe(want));

test("what is missing, how fast it comes and when it ends are told in words", () => {
  expect(missing(figures("behind", { needBytes: 2048, needItems: 1, needDeletes: 3 }))).toBe("2.00 KiB in 1 item, 3 to delete");
  expect(missing(figures("behind", { needDeletes: 3 }))).toBe("3 to delete");
  expect(missing(figures("upToDate"))).toBe("");
  expect(pace(figures("syncing", { rate: 2048 }))).toBe("2.00 KiB a second");
  const now = new Date("2026-01-01T00:00:00Z");
  const end = (...doneBetween: string[]) => ending(figures("syncing", { doneBetween }), now);
  expect(end("2026-01-01T00:03:00Z", "2026-01-01T00:09:00Z")).toBe("done in 3 min to 9 min");
  expect(end("2026-01-01T00:03:00Z", "2026-01-01T00:03:40Z")).toBe("done in about 3 min");
  expect(end("2025-12-31T23:00:00Z", "2026-01-01T00:09:00Z")).toBe("done within 9 min");
  expect(end("2025-12-31T23:00:00Z", "2025-12-31T23:09:00Z")).toBe("");
  expect(end()).toBe("");
});

test.each([
  [0, 0, "0", ""],
  [2048, 0, "2.00 KiB", ""],
  [2048, 40, "at least 2.00 KiB", "not known on 40 devices"],
  [0, 1, "", "not known on 1 device"],
])("%d bytes missing on devices that are known, %d devices not known", (needBytes, needUnknown, lack, unknown) => {
  expect([lackOfAll({ needBytes, needUnknown }), unknownOn({ needUnknown })]).toEqual([lack, unknown]);
});
