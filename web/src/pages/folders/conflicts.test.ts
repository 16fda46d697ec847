import { expect, test } from "vitest";
import { conflictCounts, conflictTitle } from "./conflicts";

const told = (files: number, more = false, counted = 0) => ({ files, more, counted, newest: "", newestAt: null });

test("what is capped says so", () => {
  expect(conflictCounts(told(100, true, 150))).toBe("more than 100 conflict files; its daemon counted 150 since its start");
  expect(conflictCounts(told(1))).toBe("1 conflict file");
  expect(conflictCounts(told(0, false, 2))).toBe("its daemon counted 2 since its start");
  expect(conflictCounts(told(0))).toBe("");
  expect(conflictCounts(undefined)).toBe("");
});

test("a file on several devices counts once", () => {
  expect(conflictTitle([told(2), told(3)])).toBe("3 files in conflict");
  expect(conflictTitle([told(100, true), told(3)])).toBe("More than 100 files in conflict");
  expect(conflictTitle([told(0, false, 4)])).toBe("Conflicts that daemons counted");
});
