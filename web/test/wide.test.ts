import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lasting, launch, leave, logIn, newPage, settle } from "./browser";
import { crawl } from "./crawl";
import { cut } from "./cut";
import { Muster } from "./muster";
import { until } from "./until";
import { wide } from "./widefleet";

// Names of every kind that people give: long ones without a place to break, of other scripts, and 200 tags on one device.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "30", "--trouble-after", "1s"), launch()]);
  await muster.user("anna", "admin");
  await until("all demo devices are registered and read", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === 30;
  });
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

test("no long name and no number of tags makes a page wider than its window, or is cut without saying so", async () => {
  const { device, folder, template, tag } = await wide(muster);
  const first = [
    "",
    "devices",
    `devices?q=${encodeURIComponent(tag)}`,
    `devices/${device}`,
    `templates/${template}`,
    "templates",
    `folders/${encodeURIComponent(folder)}`,
    "folders",
    "folder-matrix",
    "rollouts",
    "tags",
    `tags/${encodeURIComponent(tag)}`,
    "audit",
    "events/kept",
    "settings?tab=people",
    "settings?tab=tokens",
    "settings?tab=secrets",
  ];
  const wrong: string[] = [];
  const page = await newPage(browser);
  await logIn(page, muster, "anna");
  const check = async (name: string) => {
    for (const [width, height] of [
      [390, 844],
      [1440, 900],
    ] as const) {
      await page.setViewportSize({ width, height });
      wrong.push(...(await lasting(() => cut(page))).map((fault) => `${name}, ${width} wide: ${fault}`));
    }
  };
  const visited = await crawl(page, `${muster.url}/ui/`, first, check);
  expect(visited.length).toBeGreaterThan(20);
  await page.goto(`${muster.url}/ui/devices/${device}`);
  await settle(page);
  await page.getByRole("button", { name: /^Show all \d+ tags$/ }).click();
  await check("all tags");
  expect(wrong).toEqual([]);
});
