import { expect, test } from "vitest";
import type { PlannedChange } from "../../../api/queries";
import { answersTo, bodyOf, waitsForPerson, type Answer } from "./answers";

const change = (more: Partial<PlannedChange>): PlannedChange => ({
  key: "options.natEnabled",
  from: true,
  to: false,
  templates: [],
  class: "held",
  reason: "",
  ...more,
});

test("a removal is answered by its name, and a value by its own", () => {
  const password = change({
    key: "gui.password",
    answers: ["keep"],
    choices: [{ name: "no password", does: "the daemon has no password then" }],
  });
  const labels = (one: PlannedChange) => answersTo(one).map(({ label, needs }) => `${label}: ${needs}`);
  expect(labels(change({ answers: ["consent", "remove", "keep"] }))).toEqual(["Remove it: operator", "Keep what is there: operator"]);
  expect(labels(change({ answers: ["consent"] }))).toEqual(["Consent: admin"]);
  expect(labels(password)).toEqual(["Keep what is there: operator", "no password: admin"]);
  expect(labels(change({ class: "free" }))).toEqual([]);
});

test("a held change waits for a person until somebody consents", () => {
  expect([change({}), change({ consented: true }), change({ class: "refused" })].map(waitsForPerson)).toEqual([true, false, false]);
});

test("an apply has each answer in its own field", () => {
  const chosen = (one: PlannedChange, id: string): [string, Answer] => {
    const answer = answersTo(one).find((offered) => offered.id === id);
    if (!answer) throw new Error(`${one.key} offers no ${id}`);
    return [one.key, answer];
  };
  const answers = new Map([
    chosen(change({ key: "folders.a", answers: ["consent", "remove", "keep"] }), "remove"),
    chosen(change({ key: "folders.b", answers: ["consent", "remove", "keep"] }), "keep"),
    chosen(change({ key: "gui.user", answers: ["consent"] }), "consent"),
    chosen(change({ key: "gui.password", choices: [{ name: "no password", does: "" }] }), "value no password"),
  ]);
  expect(bodyOf("d1", answers)).toEqual({
    digest: "d1",
    consent: ["gui.user"],
    remove: ["folders.a"],
    keep: ["folders.b"],
    values: { "gui.password": "no password" },
  });
});
