import { expect, test } from "vitest";
import { majorsOf } from "./whom";

test("major versions are counted before an upgrade", () => {
  const devices = ["v1.19.2", "v1.30.0", "v2.1.3", ""].map((version) => ({ version }));
  expect(majorsOf(devices)).toBe("1 runs version 2, 2 run version 1, 1 runs a version that is not known.");
  expect(majorsOf([])).toBe("");
});
