import { readdirSync, readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";

test("the first view loads less than 350 KiB of script", () => {
  const assets = new URL("../dist/console/assets/", import.meta.url).pathname;
  const index = readFileSync(`${assets}../index.html`, "utf8");
  const loaded = [...index.matchAll(/(?:src|href)="\.\/assets\/([^"]+\.js)"/g)].map((match) => `${match[1] ?? ""}.gz`);
  expect(loaded.length).toBeGreaterThan(0);
  const bytes = loaded.reduce((sum, file) => sum + statSync(assets + file).size, 0);
  expect(bytes).toBeLessThan(350 * 1024);
  expect(readdirSync(assets).some((file) => file.startsWith("Editor-"))).toBe(true); // apart, loaded when it is needed
});
