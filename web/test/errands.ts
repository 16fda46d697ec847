import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, logIn, newPage } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// What an operator does at night, each time from the first page: clicks, typed texts and seconds of each errand.
const mostActs = 6; // clicks and typed texts of one errand

interface Device {
  deviceID: string;
  label: string;
  tags: string[];
  mode: string;
  version: string;
}

let muster: Muster;
let browser: Browser;
let page: Page;
let acts = 0;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "40", "--trouble-after", "1s", "--stalled-after", "2s"), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("gone", "operator")]);
  await until("all demo devices but the one that is away are in sync", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === 39;
  });
  page = await newPage(browser, { viewport: { width: 1440, height: 900 } });
  await logIn(page, muster, "anna");
});

afterAll(async () => {
  await browser.close();
  await muster.stop();
});

async function click(target: Locator): Promise<void> {
  acts++;
  await target.click();
}

async function type(text: string): Promise<void> {
  acts++;
  await page.keyboard.type(text);
}

const button = (name: string | RegExp, within: Page | Locator = page) => within.getByRole("button", { name }).first();
const link = (name: string | RegExp, within: Page | Locator = page) => within.getByRole("link", { name }).first();
const dialog = () => page.getByRole("dialog");
const devices = async () => (await muster.call<{ devices: Device[] }>("GET", "/inventory")).devices;

/** find goes to what has this label by the palette. */
async function find(label: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.locator("[role=combobox][aria-label=Search]:focus").waitFor();
  await type(label);
  await click(page.getByRole("option").filter({ hasText: label }).first());
  await page.getByRole("heading", { level: 1, name: label }).waitFor();
}

function errand(what: string, run: () => Promise<void>) {
  test(what, async () => {
    await page.goto(`${muster.url}/ui/`);
    await page.getByRole("heading", { level: 1, name: "What waits" }).waitFor();
    acts = 0;
    const began = performance.now();
    await run();
    const seconds = (performance.now() - began) / 1000;
    console.log(`${what}: ${acts} clicks and texts, ${seconds.toFixed(1)} s`);
    expect(acts).toBeLessThanOrEqual(mostActs);
  });
}

errand("which device has not been in order for longest", async () => {
  await click(link("Devices"));
  await click(button("Not in order"));
  await click(page.getByRole("columnheader", { name: "Since" }).getByRole("button"));
  await page.getByText(/ of 40 devices/).waitFor();
  await page.getByRole("grid", { name: "Devices" }).getByRole("link").first().waitFor();
});

errand("why has this one another rate limit, and who changed that", async () => {
  await find("birch-backup-010");
  await click(page.getByRole("tab", { name: "Templates" }));
  await click(page.getByRole("combobox", { name: "Key" }));
  await type("maxSendKbps");
  await click(page.getByRole("option", { name: "options.maxSendKbps" }));
  await link("Slow line in Lima", page.getByRole("region", { name: "Where a value comes from" })).waitFor();
});

errand("what did that template say before, and who saved it", async () => {
  await find("Slow line in Lima");
  await click(page.getByRole("tab", { name: "History" }));
  await page.getByText(/^Generation \d+$/).first().waitFor();
});

errand("stop everything in Lima", async () => {
  await find("site:lima");
  await click(page.getByRole("combobox", { name: "Mode of all devices with this tag" }));
  await click(page.getByRole("option", { name: /^Observe/ }));
  await until("nothing is written in Lima", async () =>
    (await devices()).every((one) => !one.tags.includes("site:lima") || one.mode === "observe"),
  );
});

errand("let the new server in", async () => {
  const group = page.getByRole("region", { name: "An agent asks to be accepted" });
  await click(button("Let in", group));
  await click(button("Let in", dialog()));
  await until("it is registered", async () => (await devices()).length === 41);
});

errand("take back what went out", async () => {
  const all = await muster.call<{ id: number; label: string }[]>("GET", "/templates");
  const id = all.find((one) => one.label === "Slow line in Lima")?.id ?? 0;
  const before = await muster.call<{ template: string }>("GET", `/templates/${id}`);
  await muster.call("POST", "/changes", { templates: { changed: [{ id, template: "{ maxSendKbps: 1 }" }] } });
  await page.reload(); // it went out before the operator came
  const recent = page.getByRole("region", { name: "Last changes by people" });
  await click(link("Slow line in Lima", recent.getByRole("listitem").filter({ hasText: "template" }).first()));
  await click(page.getByRole("tab", { name: "History" }));
  await click(button(/^Put generation/));
  await click(button(/^Save/));
  await until("the text is as it was", async () =>
    (await muster.call<{ template: string }>("GET", `/templates/${id}`)).template === before.template,
  );
});

errand("which devices run an old version", async () => {
  await click(link("Devices"));
  await click(button("Version"));
  await click(page.getByRole("menuitemcheckbox", { name: /v1\.19/ }));
  const old = (await devices()).filter((one) => one.version.startsWith("v1.19")).length;
  await page.getByText(`${old} of 41 devices`).waitFor();
});

errand("which shares does only one side have", async () => {
  await click(link("Folders"));
  await click(button("Shares with one side only"));
  await page.getByText("Both sides agree").waitFor();
});

errand("restore the options of a device to what they were", async () => {
  await find("cedar-server-001");
  await click(page.getByRole("tab", { name: "History" }));
  await click(page.getByRole("button", { name: "Restore revision 1", exact: true }));
  await click(dialog().getByRole("radio", { name: "options" }));
  await click(dialog().getByRole("button", { name: "Restore", exact: true }));
  await dialog().getByText("Templates write it").first().waitFor(); // all that differs is theirs
});

errand("which secrets are there, and for which devices", async () => {
  await click(link("Settings"));
  await click(page.getByRole("tab", { name: "Secrets" }));
  await page.getByText("No secret yet").waitFor();
});

errand("shut a person out", async () => {
  await click(link("Settings"));
  await click(page.getByRole("tab", { name: "People" }));
  await click(button("Delete", page.getByRole("row").filter({ hasText: "gone" })));
  await click(button("Delete", dialog()));
  await until("the account is gone", async () =>
    (await muster.call<{ name: string }[]>("GET", "/users")).every((one) => one.name !== "gone"),
  );
});

// Whether the files are where they should be.

errand("which folders are stopped, and why", async () => {
  await click(link(/folders stopped on/));
  await click(link("cedar-server-001", page.getByRole("grid", { name: "Devices" })));
  await page.getByRole("region", { name: "Folders" }).getByText("folder path missing").waitFor();
});

errand("who is behind in a folder, by how much and until when", async () => {
  await find("scans of group 3");
  const behind = page.getByRole("region", { name: "Who is behind, and who has what they lack" });
  await link("birch-backup-010", behind).waitFor();
  await behind.getByText(/GiB in [\d,]+ items/).waitFor();
  await behind.getByText(/^done /).waitFor();
});

errand("which files fail on the NAS, and why", async () => {
  await find("lagoon-nas-007");
  await click(link("notes of group 2"));
  const failed = page.getByRole("region", { name: "15 items could not be synced" });
  await failed.getByRole("row").filter({ hasText: "lagoon-nas-007" }).getByText("insufficient space").first().waitFor();
});

errand("where are conflicts, how many, and which is the newest", async () => {
  await click(link("1 folder with conflicts on 1 device"));
  await click(link("ember-server-024", page.getByRole("grid", { name: "Devices" })));
  await click(link("invoices of group 8", page.getByRole("region", { name: "Folders" })));
  const conflicts = page.getByRole("region", { name: "1 file in conflict" });
  await conflicts.getByRole("row").filter({ hasText: /budget\.sync-conflict-.*\.ods/ }).getByText(/ember-server-024/).waitFor();
});

errand("who was not seen for a week", async () => {
  await click(link("Devices"));
  await click(button("Not seen for a week"));
  await page.getByText(/^1 of 4[01] devices/).waitFor();
  await link("cedar-laptop-034", page.getByRole("grid", { name: "Devices" })).waitFor();
});

errand("which disk is nearly full", async () => {
  await click(link("Devices"));
  await click(page.getByRole("columnheader", { name: "Disk free" }).getByRole("button"));
  await link("delta-desk-002", page.getByRole("row").nth(1)).waitFor();
});

errand("who is connected with whom in a folder", async () => {
  await find("invoices of group 5");
  const shares = page.getByRole("region", { name: "Who shares it, and is connected with whom" });
  await shares.getByRole("row").filter({ hasText: "birch-server-015" }).getByText("no device").waitFor();
});

errand("what happened on this laptop last night", async () => {
  await find("iris-laptop-025");
  await page.getByRole("region", { name: "What happened" }).getByText(/other devices have something else/).waitFor();
});

errand("what does its daemon say", async () => {
  await find("lagoon-nas-007");
  await click(page.getByRole("tab", { name: "Log" }));
  await page.getByText(/items failed to sync/).waitFor();
});

errand("why is this file not there", async () => {
  await find("notes of group 2");
  await click(page.getByRole("textbox", { name: "Path of a file in this folder" }));
  await type("2024/item-04760.dat");
  await click(button("Why is this file not there?"));
  await page.getByText("It could not be synced. The daemon says:").waitFor();
});
