import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch, logIn, settle } from "./browser";
import { inEveryView, wanted } from "./camera";
import { Muster } from "./muster";
import { until } from "./until";

// Screenshots of every page, to be looked at: light and dark, wide and narrow.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "30", "--trouble-after", "1s", "--stalled-after", "2s"), launch()]);
  await muster.user("anna", "admin");
  const fleet = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  await until("all demo devices are in sync", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === fleet.devices.length;
  });
});

afterAll(async () => {
  await browser.close();
  await muster.stop();
});

test("shots", async () => {
  // Something to look at: a held change, a rollout that waits for its waves, a device that nobody reaches.
  const made = await muster.call<{ id: number }>("POST", "/templates", {
    label: "Move the price list",
    priority: 40,
    op: "set",
    key: "folders.price-list.path",
    template: '"~/prices"\n',
  });
  await muster.call("PUT", `/templates/${made.id}/tags/price-list`);
  const all = await muster.call<{ id: number }>("POST", "/templates", {
    label: "Fewer relays",
    priority: 50,
    op: "set",
    key: "options.relayReconnectIntervalM",
    template: "30\n",
  });
  await muster.call("PUT", `/templates/${all.id}/tags/demo`);
  await until("the first wave is admitted", async () => {
    const [rollout] = await muster.call<{ wave: number }[]>("GET", "/rollouts");
    return rollout !== undefined && rollout.wave > 0;
  });
  const fleet = await muster.call<{ devices: { deviceID: string; label: string }[] }>("GET", "/inventory");
  const id = fleet.devices[0]?.deviceID ?? "";
  const named = (label: string) => fleet.devices.find((one) => one.label === label)?.deviceID ?? "";
  const pages: [string, string][] = [
    ["home", ""],
    ["devices", "devices"],
    ["devices-outdated", "devices?outdated=true"],
    ["device", `devices/${id}`],
    ["device-plan", `devices/${id}/plan`],
    ["device-configuration", `devices/${id}/configuration`],
    ["device-configuration-key", `devices/${id}/configuration?key=options.natEnabled`],
    ["device-templates", `devices/${id}/templates`],
    ["device-history", `devices/${id}/history`],
    ["device-settings", `devices/${id}/settings`],
    ["templates", "templates"],
    ["template", `templates/${made.id}`],
    ["template-order", "templates/order"],
    ["template-new", "templates/new"],
    ["share", "templates/share"],
    ["wishes", "templates/forms"],
    ["form-limits", "templates/forms/limits"],
    ["form-setting", "templates/forms/setting"],
    ["folders", "folders"],
    ["folder", "folders/price-list"],
    ["folder-stopped", "folders/invoices-0001-1"],
    ["folder-behind", "folders/music-0004-1"],
    ["folder-failed", "folders/notes-0002-1"],
    ["file", "folders/notes-0002-1/file?path=2024/item-04760.dat"],
    ["device-failed", `devices/${named("lagoon-nas-007")}`],
    ["device-disks", `devices/${named("delta-desk-002")}`],
    ["device-log", `devices/${named("lagoon-nas-007")}/log`],
    ["devices-stopped", "devices?waiting=folderStopped"],
    ["events-kept", "events/kept"],
    ["folder-matrix", "folder-matrix"],
    ["rollouts", "rollouts"],
    ["rollout", "rollouts/1"],
    ["tags", "tags"],
    ["tag", "tags/demo"],
    ["why", `devices/${id}/templates?key=options.relayReconnectIntervalM`],
    ["events", "events"],
    ["audit", "audit"],
    ["settings", "settings"],
    ["settings-general", "settings?tab=general"],
    ["settings-people", "settings?tab=people"],
    ["settings-tokens", "settings?tab=tokens"],
    ["settings-enrolment", "settings?tab=enrolment"],
    ["settings-secrets", "settings?tab=secrets"],
    ["settings-server", "settings?tab=server"],
    ["differences", "devices?state=held"],
  ];
  await inEveryView(browser, async (page, shot) => {
    await page.goto(`${muster.url}/ui/`);
    await page.getByLabel("User name").waitFor();
    await shot("login");
    await logIn(page, muster, "anna");
    for (const [name, path] of pages) {
      if (!wanted(name)) continue;
      await page.goto(`${muster.url}/ui/${path}`);
      await settle(page);
      if (name === "events") {
        await muster.call("PUT", `/devices/${id}/tags/shown`);
        await muster.call("DELETE", `/devices/${id}/tags/shown`);
        await page.getByRole("grid", { name: "Events" }).waitFor();
      }
      if (name === "differences") {
        await page.getByRole("button", { name: "Show differences" }).click();
        await page.getByRole("heading", { name: /difference/ }).first().waitFor();
      }
      await shot(name);
    }
  });
});
