import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

// What the design system says is used, and what the pages use is in it.
const root = new URL("..", import.meta.url).pathname;
const css = readFileSync(new URL("ui.css", import.meta.url), "utf8").replace(/\/\*.*?\*\//gs, "");
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."))
  .map((name) => readFileSync(root + name, "utf8"))
  .join("\n");

const all = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))].sort();

test("the pages use each class of the style sheet, and no other", () => {
  const defined = all(css, /\.(u-[\w-]+)/g);
  const used = all(sources, /(?<![\w-])(u-[a-z][\w-]*)/g);
  expect(used).toEqual(defined);
});

test("each variable that a style reads is set", () => {
  const set = [...all(css, /(--u-[\w-]+):/g), ...all(sources, /"(--u-[\w-]+)"/g)];
  expect(all(css + sources, /var\((--u-[\w-]+)/g).filter((name) => !set.includes(name))).toEqual([]);
});
