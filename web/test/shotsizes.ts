import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { launch, logIn, settle } from "./browser";
import { anyWanted, inEveryView, wanted } from "./camera";
import { Farm } from "./farm";
import { Muster } from "./muster";
import { until } from "./until";

// Every page with 3, 300 and 10,000 devices that are well: SHOTS=300-* makes those of 300 alone, SHOTS=3-home one page.
describe.each([3, 300, 10_000])("%d devices", (devices) => {
  const isWanted = anyWanted(`${devices}-`);
  let farm: Farm | undefined;
  let muster: Muster | undefined;
  let browser: Browser | undefined;

  beforeAll(async () => {
    if (!isWanted) return;
    const atOnce = ["--waves", "rest", "--approval-threshold", "100%"];
    [farm, muster, browser] = await Promise.all([Farm.start(devices), Muster.start(...atOnce), launch()]);
    await Promise.all([muster.user("anna", "admin"), muster.user("vera", "viewer")]);
    await farm.register(muster);
    const server = muster;
    await until(
      "all devices are online and in sync",
      async () => {
        type Counts = Record<string, Record<string, number>>;
        const { connections, configurations } = await server.call<Counts>("GET", "/overview");
        return connections?.online === devices && configurations?.inSync === devices;
      },
      20 * 60_000,
    );
  }, 30 * 60_000);

  afterAll(async () => {
    await browser?.close();
    await muster?.stop();
    farm?.stop();
  });

  test.runIf(isWanted)("shots", async () => {
    if (!muster || !browser) throw new Error("the server and the browser did not start");
    const { url } = muster;
    const { devices: some } = await muster.call<{ devices: { deviceID: string; tags: string[] }[] }>("GET", "/inventory?limit=1");
    const [standing] = await muster.call<{ folder: string }[]>("GET", `/devices/${some[0]?.deviceID ?? ""}/folders`);
    const device = `devices/${some[0]?.deviceID ?? ""}`;
    const pages: [string, string][] = [
      ["home", ""],
      ["devices", "devices"],
      ["device", device],
      ...["plan", "templates", "history", "log", "settings"].map((tab): [string, string] => [`device-${tab}`, `${device}/${tab}`]),
      ["templates", "templates"],
      ["template", "templates/1"],
      ["folders", "folders"],
      ["folder", `folders/${standing?.folder ?? ""}`],
      ["folder-matrix", "folder-matrix"],
      ["rollouts", "rollouts"],
      ["rollout", "rollouts/1"],
      ["tags", "tags"],
      ["tag", "tags/relayless"],
      ["audit", "audit"],
      ["events-kept", "events/kept"],
      ...["general", "people", "tokens", "enrolment", "secrets", "server"].map((tab): [string, string] => [
        `settings-${tab}`,
        `settings?tab=${tab}`,
      ]),
    ];
    const server = muster;
    await inEveryView(browser, async (page, shot) => {
      await logIn(page, server, "anna");
      for (const [name, path] of pages) {
        if (!wanted(`${devices}-${name}`)) continue;
        await page.goto(`${url}/ui/${path}`);
        await settle(page);
        await shot(`${devices}-${name}`);
      }
      if (!wanted(`${devices}-viewer-home`)) return;
      await page.context().clearCookies();
      await logIn(page, server, "vera");
      await settle(page);
      await shot(`${devices}-viewer-home`);
    });
  });
});
