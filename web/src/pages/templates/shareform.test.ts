import { expect, test } from "vitest";
import { emptyShare, filled, missing, numberOf, systemsOf, textOf, versioningOf, withNumber, type Share } from "./shareform";

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
  expect(withNumber(versioningOf("staggered"), 2)).toEqual({ type: "staggered", params: { maxAge: "172800" } });
  for (const type of ["trashcan", "simple", "staggered"]) expect(numberOf(withNumber(versioningOf(type), 7))?.value).toBe(7);
  expect(withNumber(undefined, 7)).toBeUndefined();
});

test("a parameter of the versioning that the form does not show was lost when its number changed", () => {
  const simple = { type: "simple", params: { keep: "5", cleanoutDays: "30" } };
  expect(withNumber(simple, 7)).toEqual({ type: "simple", params: { keep: "7", cleanoutDays: "30" } });
});

test("a path for a system that the form did not show could not be changed", () => {
  const paths = { "": "~/Team", linux: "/srv/team", solaris: "/export/team", freebsd: "/usr/team" };
  expect(systemsOf(paths).map(({ name }) => name)).toEqual(["On Windows", "On macOS", "On Linux", "On FreeBSD", "On Solaris"]);
  expect(systemsOf({ plan9: "/usr/team" }).at(-1)).toMatchObject({ system: "plan9", name: "On plan9" });
});
