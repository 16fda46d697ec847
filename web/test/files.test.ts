import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious, settle, widthOf } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// Whether the files are where they should be, on the pages: a demo with one of each trouble, in a bad night.
let muster: Muster;
let browser: Browser;
let page: Page;

interface Device {
  deviceID: string;
  label: string;
}

interface Overview {
  trouble: { cause: string; devices: number; folders: number }[];
}

const overview = () => muster.call<Overview>("GET", "/overview");
const causes = ["folderStopped", "failedItems", "stalled", "alone", "outOfSync", "localChanges"];

beforeAll(async () => {
  const soon = ["--trouble-after", "1s", "--stalled-after", "2s"];
  [muster, browser] = await Promise.all([Muster.start("--demo", "30", ...soon), launch()]);
  await muster.user("anna", "admin");
  await until("every trouble of the demo counts", async () => {
    const { trouble } = await overview();
    return causes.every((cause) => trouble.some((one) => one.cause === cause));
  });
  page = await newPage(browser);
  await logIn(page, muster, "anna");
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

async function show(path: string): Promise<void> {
  await page.goto(`${muster.url}/ui/${path}`);
  await settle(page);
}

const region = (name: string | RegExp) => page.getByRole("region", { name });
const rowsOf = (panel: Locator) => panel.locator("tbody tr");
const deviceNamed = async (label: string) =>
  (await muster.call<{ devices: Device[] }>("GET", "/inventory")).devices.find((one) => one.label === label)?.deviceID ?? "";

/** byFive has the server answer lists of one path in parts of five. */
async function byFive(path: string): Promise<void> {
  await page.route(`**/api/v1/${path}?*`, (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "5");
    return route.continue({ url: url.href });
  });
}

/** noFaults checks the page for what people stumble over, wide and narrow. */
async function noFaults(): Promise<void> {
  expect(await serious(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await until("the page is no wider than its window", async () => (await widthOf(page)) <= 390);
  await page.setViewportSize({ width: 1440, height: 900 });
}

test("the first page says what is wrong now, worst first, and each line opens the devices that have it", async () => {
  await show("");
  const lines = region("Wrong now").getByRole("listitem");
  await lines.first().getByText("Critical").waitFor();
  await until("each trouble has its line", async () => (await lines.count()) === (await overview()).trouble.length);
  expect(await page.getByText("Nothing waits for you").count()).toBe(0);
  await lines.first().getByText("Do NOT put an empty folder in its place").waitFor();
  await noFaults();
  await lines.first().getByRole("link", { name: "5 folders stopped on 5 devices" }).click();
  await page.getByText("5 of 30 devices").waitFor();
  await page.getByRole("grid", { name: "Devices" }).getByText("Stopped").nth(4).waitFor();
});

test("a fleet of laptops that are closed is calm, and a fleet in trouble is not", async () => {
  let troubled = 0;
  await page.route("**/api/v1/overview", async (route) => {
    const answer = await route.fetch();
    const real = (await answer.json()) as object;
    const connections = { online: 5, unreachable: 25 };
    const folders = { all: 12, unknown: 12 };
    await route.fulfill({ response: answer, json: { ...real, connections, folders, trouble: [], troubled } });
  });
  await page.route("**/api/v1/waiting", (route) => route.fulfill({ json: { groups: [], devices: 0 } }));
  await show("");
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByText("25 devices are not online, and none of them for longer than it may be.").waitFor();
  troubled = 1;
  await show("");
  await page.getByText("devices in trouble").waitFor();
  expect(await page.getByText("Nothing waits for you").count()).toBe(0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("a folder that stopped has its reason and age, and no bar, percentage or green beside it", async () => {
  await show("folders?state=stopped");
  const first = page.locator("tbody tr").first();
  await first.getByText("Stopped", { exact: true }).waitFor();
  await first.getByRole("link").click();
  const devices = region("Devices, those with the worst state first");
  const row = rowsOf(devices).first();
  await row.getByText("Stopped", { exact: true }).waitFor();
  await row.getByText(/^Read /).waitFor();
  expect(await row.getByRole("progressbar").count()).toBe(0);
  expect(await row.getByText("%").count()).toBe(0);
  expect(await row.locator("[data-tone=good]").count()).toBe(0);
  await rowsOf(devices).last().getByText("100 %").waitFor();
  await noFaults();
});

test("a folder says who is behind, since when, and who has what is missing; its columns are sorted", async () => {
  await show("folders/music-0004-1");
  const behind = rowsOf(region("Who is behind, and who has what they lack"));
  await behind.first().getByText("3.00 GiB in 40 items").waitFor();
  await behind.first().getByText(/ago|just now/).first().waitFor();
  await behind.first().getByRole("link", { name: "harbor-edge-014" }).waitFor();
  const devices = page.getByRole("region", { name: /^Devices/ }); // its title says the worst first until one sorts
  const names = () => rowsOf(devices).locator("td:first-child a").allTextContents();
  const stopped = "iris-server-012"; // its daemon stopped the folder
  await until("the stopped one is first", async () => (await names())[0] === stopped);
  await page.locator("main section[data-tone=bad]").getByRole("link", { name: stopped }).waitFor();
  const heading = devices.getByRole("columnheader", { name: "Device" });
  await heading.getByRole("button").click();
  await heading.getByRole("button").click();
  expect(await heading.getAttribute("aria-sort")).toBe("descending");
  const backwards = [stopped, "harbor-edge-014", "delta-nas-013"];
  await until("the names go backwards", async () => (await names()).join() === backwards.join());
});

test("all items that failed are shown, a part at a time, and lead to the page of the file", async () => {
  await byFive("folders/*/failed");
  await show("folders/notes-0002-1");
  const failed = region("15 items could not be synced");
  for (const shown of [5, 10]) {
    await rowsOf(failed).nth(shown - 1).waitFor();
    expect(await rowsOf(failed).count()).toBe(shown);
    await failed.getByRole("button", { name: "Show more items" }).click();
  }
  await rowsOf(failed).nth(14).waitFor();
  await failed.getByRole("button", { name: "Show more items" }).waitFor({ state: "detached" });
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await failed.getByRole("link", { name: "2024/item-04760.dat" }).click();
  await page.getByRole("heading", { level: 1, name: "2024/item-04760.dat" }).waitFor();
  const device = page.getByRole("row").filter({ hasText: "ember-server-008" });
  await device.getByText("It could not be synced. The daemon says:").waitFor();
  await noFaults();
});

test("the page of a device has its folders, the worst first, its disks, and its daemon's log", async () => {
  await show(`devices/${await deviceNamed("delta-desk-002")}`);
  await region("Disks, as the agent tells").getByText("Nearly full").first().waitFor();
  await show(`devices/${await deviceNamed("lagoon-nas-007")}`);
  await rowsOf(region("Folders")).first().getByText("Failed items").waitFor();
  await page.getByRole("link", { name: "Items failed" }).waitFor(); // beside the sentence about its configuration
  await page.getByRole("tab", { name: "Log" }).click();
  const log = region("The daemon's own log, the newest line first");
  await log.getByText("Warning").first().waitFor();
  await page.getByLabel("Search the log").fill("my id");
  await until("the lines that match are left", async () => (await rowsOf(log).count()) === 1);
  await noFaults();
});

test("events that are kept are filtered, and read further back a part at a time", async () => {
  await byFive("events/log");
  await show("events/kept");
  const kept = region("What happened");
  await rowsOf(kept).nth(4).waitFor();
  expect(await rowsOf(kept).count()).toBe(5);
  await kept.getByRole("button", { name: "Show older events" }).click();
  await rowsOf(kept).nth(9).waitFor();
  const texts = await rowsOf(kept).allTextContents();
  expect(new Set(texts).size).toBeGreaterThan(5); // the second part is not the first again
  await show("events/kept?kind=folder");
  await rowsOf(kept).first().getByText("Folder", { exact: true }).waitFor();
  expect(await kept.getByText("Revision", { exact: true }).count()).toBe(0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await noFaults();
});
