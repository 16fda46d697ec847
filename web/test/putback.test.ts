import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Muster } from "./muster";

// An older database was put back while the server was away.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start(), launch()]);
  await muster.user("anna", "admin");
  await muster.halt();
  const earlier = muster.database();
  await muster.again();
  await muster.call("PUT", "/tags/later/protection", { protected: true });
  await muster.halt();
  muster.putBack(earlier);
  await muster.again();
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

test("every page says that the database is older, and what to type", async () => {
  const page = await newPage(browser);
  await logIn(page, muster, "anna");
  const banner = page.getByRole("alert").filter({ hasText: "The database is older than it was" });
  for (const path of ["", "devices", "settings"]) {
    await page.goto(`${muster.url}/ui/${path}`);
    await banner.waitFor();
    expect(await banner.locator(".u-inline-code").allTextContents()).toContainEqual(expect.stringMatching(/^muster audit accept-loss \d+$/));
  }
  expect(await serious(page)).toEqual([]);
});
