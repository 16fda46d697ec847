import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch, logIn, settle } from "./browser";
import { inEveryView, wanted } from "./camera";
import { Farm } from "./farm";
import { Muster } from "./muster";
import { until } from "./until";

// A bad night of 2,000 devices: 215 folders are behind, 3 are stopped, 40 devices are gone.
let farm: Farm;
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [farm, muster, browser] = await Promise.all([Farm.night(2000), Muster.start("--trouble-after", "1s"), launch()]);
  await muster.user("anna", "admin");
  await farm.register(muster);
  await connected(2000);
  farm.begin();
  await connected(1960);
  await until("the stopped folders are in trouble", async () => {
    const { trouble } = await muster.call<{ trouble: { cause: string; folders: number }[] }>("GET", "/overview");
    return trouble.some((one) => one.cause === "folderStopped" && one.folders === 3);
  });
}, 600_000);

afterAll(async () => {
  await browser.close();
  await muster.stop();
  farm.stop();
});

async function connected(count: number): Promise<void> {
  await until(`${count} devices are online`, async () => {
    const { connections } = await muster.call<{ connections: Record<string, number> }>("GET", "/overview");
    return connections.online === count;
  });
}

test("a bad night", async () => {
  const stopped = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory?waiting=folderStopped&limit=1");
  const device = stopped.devices[0]?.deviceID ?? "";
  const [standing] = await muster.call<{ folder: string; state: string }[]>("GET", `/devices/${device}/folders`);
  const pages: [string, string][] = [
    ["night-home", ""],
    ["night-devices", "devices?waiting=trouble"],
    ["night-device", `devices/${device}`],
    ["night-folders", "folders"],
    ["night-folder", `folders/${standing?.folder ?? ""}`],
  ];
  await inEveryView(browser, async (page, shot) => {
    await logIn(page, muster, "anna");
    for (const [name, path] of pages) {
      if (!wanted(name)) continue;
      await page.goto(`${muster.url}/ui/${path}`);
      await settle(page);
      await shot(name);
    }
  });
});
