import { expect, test } from "vitest";
import { emptyShare, filled, missing, numberOf, textOf, versioningOf, type Share } from "./shareform";

const team: Share = { label: "Team", paths: { "": "~/Team" }, sendReceive: ["team"] };

test("a field that was filled in and emptied again is no change", () => {
  const emptied = { ...team, paths: { "": "~/Team", windows: "" }, hubs: [], ignores: [" "], secret: "pw", keepFreePercent: 0 };
  expect(textOf(emptied)).toBe(textOf(team));
  expect(filled(emptied)).toEqual(team);
  expect(textOf({ ...team, hubs: ["hub"] })).not.toBe(textOf(team));
});

test("what is missing is said before a plan is asked for", () => {
  expect(missing(emptyShare, false)).toMatch(/name/);
  expect(missing({ ...emptyShare, label: "Team" }, false)).toMatch(/where/);
  expect(missing({ ...team, sendReceive: [] }, false)).toMatch(/role/);
  expect(missing({ ...team, encrypted: ["vault"] }, false)).toMatch(/secret/);
  expect(missing(team, true)).toMatch(/hubs/);
  expect(missing(team, false)).toBe("");
});

test("versions are counted in days or numbers, and kept as the daemon counts them", () => {
  expect(versioningOf("")).toBeUndefined();
  expect(versioningOf("staggered", 2)).toEqual({ type: "staggered", params: { maxAge: "172800" } });
  for (const type of ["trashcan", "simple", "staggered"]) expect(numberOf(versioningOf(type, 7))?.value).toBe(7);
});
