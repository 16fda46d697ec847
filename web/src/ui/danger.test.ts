import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url);
const pages = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".tsx"));

/** What people lose something by; all that asks before it does so has a verb. */
const dangerous = /\bverb: "(Delete|Forget|Revoke|Reject|Remove)\b/;

test("a button that deletes looked like any other", () => {
  let found = 0;
  for (const path of pages) {
    for (const act of readFileSync(new URL(path, root), "utf8").split("<Act\n").slice(1)) {
      const head = act.slice(0, act.indexOf("</Act>"));
      if (!dangerous.test(head)) continue;
      found++;
      expect(head, path).toContain('color="red"');
    }
  }
  expect(found).toBeGreaterThan(5);
});
