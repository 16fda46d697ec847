import { expect, test } from "vitest";
import { inButtons, linked } from "./buttons";

test("a command whose button stands beside it was to be typed all the same", () => {
  const text = "`muster rollout undo 2` takes it back. `muster rollout resume 2` goes on. `muster rollout undo 21` does not.";
  const buttons = ["Undo", "Resume"].map((verb) => ({ command: `muster rollout ${verb.toLowerCase()} 2`, verb }));
  expect(inButtons(text, buttons)).toBe("Undo takes it back. Resume goes on. `muster rollout undo 21` does not.");
});

test("a command about a rollout was to be typed beside a page that has its button", () => {
  expect(linked("muster rollout show 12")).toEqual({ href: "/rollouts/12", text: "rollout 12" });
  expect(linked("muster rollout resume 2")).toEqual({ href: "/rollouts/2", text: "Resume rollout 2" });
  for (const other of ["muster rollout list", "muster rollout show 12; reboot", "muster rollout show x", "muster resume"]) {
    expect(linked(other)).toBeUndefined();
  }
});
