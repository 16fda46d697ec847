import { expect, test } from "vitest";
import { rangeText } from "./range";

test("a page says which members of the list it shows", () => {
  expect(rangeText(0, 50, 2000)).toBe("1 to 50 of 2,000");
  expect(rangeText(50, 50, undefined)).toBe("51 to 100");
  expect(rangeText(0, 0, 0)).toBe("none");
});
