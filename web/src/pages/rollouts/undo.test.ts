import { expect, test } from "vitest";
import { afterUndo, answeredByUndo, consentOfUndo } from "./undo";

const listed = (deviceID: string, ...digests: (string | undefined)[]) => ({
  deviceID,
  changes: digests.map((digest) => ({ digest })),
});

// The consent of an undo was for whatever it removed, listed or not.
test("an undo names what was listed, and says so", () => {
  const plan = { devices: [listed("A", "1", undefined), listed("B", "2")] };
  expect(answeredByUndo(plan)).toEqual([
    { deviceID: "A", digest: "1" },
    { deviceID: "B", digest: "2" },
  ]);
  expect(consentOfUndo(plan)).toMatch("consents to 2 held changes");
});

test("what was not in the list is told after the undo", () => {
  const waiting = (deviceID: string, key: string) => ({ deviceID, label: "", key });
  expect(afterUndo({ waiting: [] })).toBe("It is taken back");
  expect(afterUndo({ waiting: [waiting("A", "folders.f"), waiting("A", "folders.g")] })).toMatch(
    "2 changes wait on 1 device for an answer",
  );
});
