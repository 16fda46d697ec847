import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, settle } from "./browser";
import { Farm } from "./farm";
import { Muster } from "./muster";
import { costOf, type Line, type PageCost } from "./pagecost";
import { visits } from "./visits";

// Pages of a fleet of many devices, all of which have the folder "handbook": a page that drew each of them would have
// more elements than any page may have.
const devices = Number(process.env.SCALE_DEVICES ?? (process.env.MUSTER_SOAK ? 2000 : 600));
const mostNodes = 5000;
// Over a line with a delay, requests that a page sends together overlap, however slow the machine is that counts them.
const delayed: Line = { bitsASecond: 1_000_000_000, latencyMs: 300 };

let farm: Farm;
let muster: Muster;
let browser: Browser;
const { open: visit, close } = visits(() => ({ browser, muster }));
let session: BrowserContextOptions["storageState"];

beforeAll(async () => {
  [farm, muster, browser] = await Promise.all([Farm.start(devices), Muster.start(), launch()]);
  await muster.user("anna", "admin");
  await farm.add(muster);
  const page = await visit("anna");
  session = await page.context().storageState();
  await close(page);
}, 20 * 60_000);

afterAll(async () => {
  await leave(browser);
  await muster.stop();
  farm.stop();
});

const cost = (path: string, shows: string, line?: Line): Promise<PageCost> =>
  costOf(browser, session, `${muster.url}/ui/${path}`, shows, line);

async function open(path: string): Promise<Page> {
  const page = await visit("anna", path);
  await settle(page);
  return page;
}

test("every page of a large fleet draws a bounded part of it", async () => {
  for (const [path, shows] of [
    ["", "h1"],
    ["devices", ".u-vrow"],
    ["folders", ".u-table tbody tr"],
    ["folders/handbook", ".u-table tbody tr"],
    ["folder-matrix", ".u-matrix tbody tr"],
    ["tags", "h1"],
    ["events/kept", "h1"],
    ["audit", ".u-table tbody tr"],
  ] as const) {
    const { nodes, sequential } = await cost(path, shows, delayed);
    expect(nodes, `nodes of /${path}`).toBeLessThan(mostNodes);
    expect(sequential, `requests one after the other of /${path}`).toBeLessThan(8);
  }
});

test("a folder and the matrix read the devices that show, and no list of all of them", async () => {
  for (const [path, shows] of [
    ["folders/handbook", ".u-table tbody tr"],
    ["folder-matrix", ".u-matrix tbody tr"],
  ] as const) {
    const { requests, bytes } = await cost(path, shows);
    const whole = requests.filter((one) => /\/(inventory|devices|states)$/.test(one));
    expect(whole, `lists of all devices that /${path} reads`).toEqual([]);
    expect(bytes, `bytes of /${path}`).toBeLessThan(600_000); // with the files of the console, which are 350,000
  }
});

test("the answers that are large come compressed", async () => {
  const { bytes } = await cost("devices", ".u-vrow");
  const plain = JSON.stringify(await muster.call("GET", "/inventory")).length;
  expect(plain).toBeGreaterThan(400 * devices);
  expect(bytes).toBeLessThan(450_000 + plain / 4); // the files of the console, which are 350,000, and the inventory
});

test("one leafs through the devices of a folder, filters and sorts them at the server", async () => {
  const page = await open("folders/handbook");
  const table = page.getByRole("region", { name: /^Devices/ });
  const names = () => table.locator("tbody tr td:first-child a").allInnerTexts();
  await table.getByText(`Devices 1 to 50 of ${devices.toLocaleString("en")}`).waitFor();
  const first = await names();
  expect(first).toHaveLength(50);
  await table.getByRole("button", { name: "Next devices" }).click();
  await table.getByText("Devices 51 to 100").waitFor();
  await expect.poll(async () => (await names()).filter((name) => first.includes(name)), { timeout: 30_000 }).toEqual([]);
  await table.getByRole("button", { name: "Previous devices" }).click();
  await table.getByText("Devices 1 to 50").waitFor();
  await expect.poll(names, { timeout: 30_000 }).toEqual(first);
  await table.getByRole("button", { name: "Device", exact: true }).click();
  await page.waitForURL(/sort=label/);
  await expect.poll(async () => (await names())[0], { timeout: 30_000 }).toMatch(/^amber-/);
  await page.getByLabel("Search devices").fill("lagoon");
  await expect.poll(async () => (await names()).every((name) => name.startsWith("lagoon")), { timeout: 30_000 }).toBe(true);
  expect(page.url()).toContain("q=lagoon");
  await close(page);
});

test("one leafs through the matrix, both ways", async () => {
  const page = await open("folder-matrix");
  const matrix = page.getByRole("group", { name: "Folders by device" });
  await page.getByText(`Devices 1 to 20 of ${devices.toLocaleString("en")}`).waitFor();
  expect(await matrix.locator("thead th").count()).toBe(21);
  const before = await matrix.locator("thead th").nth(1).innerText();
  await page.getByRole("button", { name: "Next devices" }).click();
  await page.getByText("Devices 21 to 40").waitFor();
  await expect.poll(() => matrix.locator("thead th").nth(1).innerText(), { timeout: 30_000 }).not.toBe(before);
  await page.getByLabel("Search folders").fill("handbook");
  await page.waitForURL(/folder=handbook/);
  await expect.poll(() => matrix.locator("tbody tr").count(), { timeout: 30_000 }).toBe(1);
  await close(page);
});

test("an export has all rows that the filter picks, not only the page", async () => {
  const page = await open("folders/handbook?sort=label");
  const save = async (kind: RegExp) => {
    await page.getByRole("region", { name: /^Devices/ }).getByRole("button", { name: "Export" }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: kind }).click()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  };
  const json = await save(/^JSON/);
  expect(json.name).toBe("devices-of-handbook.json");
  expect(JSON.parse(json.text)).toHaveLength(devices);
  const csv = await save(/^CSV/);
  expect(csv.name).toBe("devices-of-handbook.csv");
  expect(csv.text.split("\r\n")[0]).toContain("deviceID,label");
  expect(csv.text.trim().split("\r\n")).toHaveLength(devices + 1);
  await close(page);
});

test("a filter is kept by name, and its address shows others the same", async () => {
  const page = await open("devices?q=lagoon&sort=-since");
  await page.getByRole("button", { name: "Kept filters" }).click();
  await page.getByRole("menuitem", { name: "Keep this filter…" }).click();
  await page.getByLabel("Name").fill("The lagoon");
  await page.getByRole("button", { name: "Keep", exact: true }).click();
  await page.goto(`${muster.url}/ui/devices`);
  await settle(page);
  await page.getByRole("button", { name: "Kept filters" }).click();
  await page.getByRole("menuitem", { name: "The lagoon", exact: true }).click();
  await page.waitForURL(/q=lagoon&sort=-since/);
  await expect.poll(() => page.locator(".u-vrow").first().innerText(), { timeout: 30_000 }).toContain("lagoon");
  await close(page);
});
