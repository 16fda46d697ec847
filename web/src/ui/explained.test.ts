import { expect, test } from "vitest";
import { explained } from "./explained";

test("a page that failed says why, and a part that is gone since an update says so", () => {
  expect(explained(new Error("x is undefined"))).toBe("This page failed: x is undefined");
  expect(explained("a text")).toBe("This page failed: a text");
  for (const message of [
    "Failed to fetch dynamically imported module: http://localhost/ui/assets/Audit-1.js",
    "Importing a module script failed.",
  ]) {
    expect(explained(new TypeError(message))).toMatch(/Muster was updated/);
  }
});
