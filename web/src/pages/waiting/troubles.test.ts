import { expect, test } from "vitest";
import { byCount, headline, isTrouble } from "./troubles";

test("a trouble says how many folders and devices it is about", () => {
  expect(headline({ cause: "unreachable", devices: 40, folders: 0 })).toBe("40 devices unreachable");
  expect(headline({ cause: "folderStopped", devices: 1, folders: 3 })).toBe("3 folders stopped on 1 device");
  expect(headline({ cause: "diskNearlyFull", devices: 2, folders: 0 })).toBe("2 devices on a disk that is nearly full");
});

test("what waits for a person's answer is no trouble of files", () => {
  expect(["unreachable", "conflicts", "held", "enrollment"].map(isTrouble)).toEqual([true, true, false, false]);
});

test("counts are sorted, the largest first", () => {
  expect(byCount({ b: 1, a: 1, c: 3 })).toEqual([
    ["c", 3],
    ["a", 1],
    ["b", 1],
  ]);
});
