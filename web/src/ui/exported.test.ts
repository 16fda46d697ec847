import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const pages = new URL("../pages", import.meta.url).pathname;

// The numbers of home, of which each is a link to a table.
const notExported = ["waiting/States.tsx"];

test("every page with a table exports it", () => {
  const files = readdirSync(pages, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".tsx"));
  const lacking = files.filter((name) => {
    const text = readFileSync(join(pages, name), "utf8");
    return /<(?:List|VirtualTable|VirtualTree)\s/.test(text) && !text.includes("<Export");
  });
  expect(lacking).toEqual(notExported);
  expect(files.length).toBeGreaterThan(50);
});
