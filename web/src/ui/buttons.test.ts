import { expect, test } from "vitest";
import { inButtons } from "./buttons";

test("a command whose button stands beside it was to be typed all the same", () => {
  const text = "`muster rollout undo 2` takes it back. `muster rollout resume 2` goes on. `muster rollout undo 21` does not.";
  const buttons = ["Undo", "Resume"].map((verb) => ({ command: `muster rollout ${verb.toLowerCase()} 2`, verb }));
  expect(inButtons(text, buttons)).toBe("Undo takes it back. Resume goes on. `muster rollout undo 21` does not.");
});
