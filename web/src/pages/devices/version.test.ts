import { expect, test } from "vitest";
import { compareVersions, versionIs, versionWords } from "./version";

test("versions are in the order of their numbers, candidates before their release, and other texts first", () => {
  const ordered = ["", "unknown-dev", "v1.9.0", "v1.10.0", "v2.0.0-dev.4", "v2.0.0-rc.2", "v2.0.0-rc.10", "v2.0.0", "2.1", "v2.1.3"];
  expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered);
});

test.each([
  ["v1.30.0", "<2", true],
  ["v2.0.0", "<2", false],
  ["v2.0.0-rc.1", "<2.0.0", true],
  ["v2.1.0", ">=2.1", true],
  ["v2.1.0-rc.1", ">= v2.1", false],
  ["v2.1.3", "<=2.1", false],
  ["v2.1.3", ">2.1", true],
  ["v2.1.3", "v2.1.3", true],
  ["v2.1.3", "2.1.3", false],
  ["unknown-dev", "<2", false],
  ["", "<2", false],
  ["v99999999999.0.0", ">2", false],
  ["v2.1.3", "<soon", false],
])("%s is asked for by %s: %s", (version, asked, is) => {
  expect(versionIs(version, asked)).toBe(is);
});

test("a filter by version has words", () => {
  expect(["v2.1.3", "<2.1", "<=2.1", ">2", ">=2"].map(versionWords)).toEqual(["v2.1.3", "Before 2.1", "Up to 2.1", "After 2", "From 2"]);
});
