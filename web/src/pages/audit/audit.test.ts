import { expect, test } from "vitest";
import { lastOf, namesThen, rolloutOf, subjectOf, templateOf, versionsAt } from "./audit";

const at = "2026-01-02T03:04:05.678Z";

test("an entry about a template has the text that it made and the one before", () => {
  expect(templateOf({ what: "template.replace", subject: "7", at })).toBe(7);
  expect(templateOf({ what: "template.delete", subject: "7", at })).toBe(0);
  expect(templateOf({ what: "device.apply", subject: "7", at })).toBe(0);
  const versions = [{ at: "2026-01-03T00:00:00Z" }, { at }, { at: "2026-01-01T00:00:00Z" }];
  expect(versionsAt(versions, at)).toEqual({ made: versions[1], before: versions[2] });
  expect(versionsAt(versions, "2026-02-01T00:00:00Z").made).toBeUndefined();
});

test("an entry names devices and templates by label, and rollouts as such", () => {
  const labels = new Map([["ID", "nas"]]);
  const names = new Map([[5, "Fewer relays"]]);
  const of = (what: string, subject: string, detail = "") => subjectOf({ what, subject, detail }, labels, names);
  expect([
    of("device.tag", "ID"),
    of("template.tag", "5"),
    of("template.delete", "6"),
    of("template.delete", "6", "Team folder"),
    of("template.create", "6", 'Team folder; title: "for Berlin"'),
    of("rollout.begin", "1"),
    of("user.create", "5"),
  ]).toEqual(["nas", "Fewer relays", "template 6", "Team folder", "Team folder", "rollout 1", "5"]);
});

// The entries about tags of a template that was undone said "template 6".
test("a template that is gone has its name in every entry of the page", () => {
  const entry = (what: string, subject: string, detail: string) => ({ what, subject, detail });
  const entries = [
    entry("template.delete", "6", "Team folder"),
    entry("template.tag", "6", "office"),
    entry("template.create", "6", "Old name"),
    entry("template.replace", "5", "Then"),
    entry("user.create", "6", "operator"),
  ];
  const known = namesThen(entries, new Map([[5, "Now"]]));
  expect(entries.map((one) => subjectOf(one, new Map(), known))).toEqual(["Team folder", "Team folder", "Team folder", "Now", "6"]);
});

test("an entry has the rollout by which its change can be undone", () => {
  const change = { at: "2026-11-20T10:01:00Z", since: "2026-11-20T10:00:00Z", who: "anna", rollout: 7, undoable: true, parts: [{ what: "template.replace" }] };
  const entry = { at: "2026-11-20T10:00:30Z", who: "anna", what: "template.replace" };
  expect(rolloutOf(entry, [change])).toBe(7);
  expect(rolloutOf({ ...entry, who: "otto" }, [change])).toBe(0);
  expect(rolloutOf({ ...entry, at: "2026-11-20T10:02:00Z" }, [change])).toBe(0);
  expect(rolloutOf(entry, [{ ...change, undoable: false }])).toBe(0);
  expect(rolloutOf({ ...entry, what: "secret.put" }, [change])).toBe(0);
});

test("a day from which on entries are listed goes before the last hour", () => {
  expect([lastOf("hour", ""), lastOf("hour", "2026-11-20"), lastOf("year", "")]).toEqual(["hour", "", ""]);
});
