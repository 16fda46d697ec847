import { expect, test } from "vitest";
import { templateOf, versionsAt } from "./audit";

const at = "2026-01-02T03:04:05.678Z";

test("an entry about a template has the text that it made and the one before", () => {
  expect(templateOf({ what: "template.replace", subject: "7", at })).toBe(7);
  expect(templateOf({ what: "template.delete", subject: "7", at })).toBe(0);
  expect(templateOf({ what: "device.apply", subject: "7", at })).toBe(0);
  const versions = [{ at: "2026-01-03T00:00:00Z" }, { at }, { at: "2026-01-01T00:00:00Z" }];
  expect(versionsAt(versions, at)).toEqual({ made: versions[1], before: versions[2] });
  expect(versionsAt(versions, "2026-02-01T00:00:00Z").made).toBeUndefined();
});
