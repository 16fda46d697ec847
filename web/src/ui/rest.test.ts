import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(new URL("ui.css", import.meta.url), "utf8");

/** ruleOf is what ui.css says of a selector that has a line of its own. */
function ruleOf(selector: string): string {
  return css.split("\n").find((line) => line.startsWith(`${selector} {`)) ?? "";
}

test("the number of further tags went to a line of its own where the column was narrow", () => {
  expect(ruleOf(".u-rest")).toMatch(/flex: none;.*white-space: nowrap;/);
  expect(ruleOf(".u-vrow .u-chip")).toContain("flex: 0 1 auto;"); // The chips give way.
});
