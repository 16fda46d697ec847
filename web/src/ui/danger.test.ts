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

// The settings and the part of a person's fleet asked what a change is for, and sent it to nobody.
test("what asks for a title of its change sends it", () => {
  let asked = 0;
  for (const path of pages) {
    const text = readFileSync(new URL(path, root), "utf8");
    for (const act of text.split("<Act\n").slice(1)) {
      const head = act.slice(0, act.indexOf("</Act>"));
      if (!/\bconfirm\b|\.\.\.asks\(/.test(head) || head.includes("untitled")) continue;
      asked++;
      const run = /run=\{(.*)/.exec(head)?.[1] ?? "";
      const name = /^\w+(?:\.(\w+))?/.exec(run)?.at(1) ?? /^\w+/.exec(run)?.[0] ?? "";
      const definition = new RegExp(`\\b(?:const ${name} =|${name}:)(?:.*\\n){1,4}`).exec(text)?.[0] ?? "";
      expect(run.startsWith("async (") || run.startsWith("(") ? run : definition, `${path}: ${run}`).toMatch(/\btitle\b/);
    }
  }
  expect(asked).toBeGreaterThan(5);
});
