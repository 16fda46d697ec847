import { readdirSync, readFileSync, statSync } from "node:fs";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, logIn } from "./browser";
import { Muster } from "./muster";

// One server and one browser are for all of these, in their order.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "30"), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("vera", "viewer")]);
  await muster.until("all demo devices are in sync", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === 30;
  });
});

afterAll(async () => {
  await browser.close();
  await muster.stop();
});

/** open is a page of a browser with cookies of its own, that fails where the policy of the page blocks something. */
async function open(name: string, path = ""): Promise<Page> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) blocked.push(message.text());
  });
  await logIn(page, muster, name, path);
  return page;
}
const blocked: string[] = [];

/** serious are the faults of accessibility that people stumble over. */
async function serious(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

async function settle(page: Page) {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
}

test("the first view loads less than 350 KiB of script", () => {
  const assets = new URL("../dist/console/assets/", import.meta.url).pathname;
  const index = readFileSync(`${assets}../index.html`, "utf8");
  const loaded = [...index.matchAll(/(?:src|href)="\.\/assets\/([^"]+\.js)"/g)].map((match) => `${match[1] ?? ""}.gz`);
  expect(loaded.length).toBeGreaterThan(0);
  const bytes = loaded.reduce((sum, file) => sum + statSync(assets + file).size, 0);
  expect(bytes).toBeLessThan(350 * 1024);
  expect(readdirSync(assets).some((file) => file.startsWith("Editor-"))).toBe(true); // apart, loaded when it is needed
});

test("a wrong password is refused, the right one leads to the page that was asked for", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${muster.url}/ui/devices?q=nas`);
  await page.locator("input[name=userid]").fill("anna");
  await page.locator("input[name=password]").fill("a wrong password");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("alert").getByText("The user name or the password is wrong").waitFor();
  await page.context().close();
  const again = await open("anna", "devices?q=nas");
  await again.getByRole("heading", { name: "Devices" }).waitFor();
  expect(await again.getByLabel("Search devices").inputValue()).toBe("nas");
  await again.context().close();
});

test("a device is found by typing, and its page says how it stands, by keyboard alone", async () => {
  const page = await open("anna", "devices");
  await settle(page);
  await page.getByRole("grid", { name: "Devices" }).waitFor();
  await page.locator("#main").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("fjord-edge");
  await page.getByText("1 of 30 devices").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("fjord-edge");
  await page.getByRole("grid", { name: "Devices" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "fjord-edge-000" }).waitFor();
  await page.getByText("The daemon has what its templates ask for").waitFor();
  await page.getByText("Price list").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).fill("slow line");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Slow line in Lima" }).waitFor();
  await page.context().close();
});

test("a template with a mistake is mended, its plan read, saved, and its rollout watched", async () => {
  const page = await open("anna", "templates/new");
  await settle(page);
  await page.getByLabel("Label").fill("Rescan more often");
  await page.getByRole("combobox", { name: "Key" }).fill("options.relayReconnectIntervalM");
  await page.getByRole("combobox", { name: "Op" }).click();
  await page.getByRole("option", { name: "set" }).click();
  await page.getByRole("combobox", { name: "Tags" }).fill("demo");
  await page.keyboard.press("Enter");
  const editor = page.getByRole("textbox", { name: "Template text" });
  await editor.click();
  await page.keyboard.type("{ half");
  await page.getByRole("alert").getByText(/line 1/i).first().waitFor();
  await page.locator(".cm-lint-marker-error").waitFor();
  expect(await page.getByRole("button", { name: /^Create/ }).getAttribute("aria-disabled")).toBe("true");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("30");
  await page.getByRole("button", { name: "Create for 30 devices" }).click();
  await page.getByRole("button", { name: /^Save/ }).waitFor();
  await page.getByRole("link", { name: /Rollouts/ }).click();
  await page.getByRole("link", { name: "Rollout 1" }).click();
  await page.getByText("Succeeded").first().waitFor({ timeout: 90_000 }); // by events: the page is not loaded again
  await page.getByText("1 of 1 done").waitFor();
  const { devices } = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  const config = await muster.call<{ options: { relayReconnectIntervalM: number } }>(
    "GET",
    `/devices/${devices[0]?.deviceID ?? ""}/config`,
  );
  expect(config.options.relayReconnectIntervalM).toBe(30);
  await page.context().close();
});

test("what is held for a group is answered once", async () => {
  const { id } = await muster.call<{ id: number }>("POST", "/templates", {
    label: "Move the price list",
    priority: 40,
    op: "set",
    key: "folders.price-list.path",
    template: '"~/prices"',
  });
  await muster.call("PUT", `/templates/${id}/tags/price-list`);
  const page = await open("anna");
  const group = page.getByRole("region").filter({ hasText: "folders.price-list.path" });
  await group.getByText("5 devices").waitFor();
  await group.getByRole("button", { name: "Consent" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Consent" }).click();
  await group.waitFor({ state: "detached", timeout: 60_000 });
  await page.context().close();
});

test("the fleet's numbers have the curve of a day", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("pageerror", (error) => blocked.push(String(error)));
  const start = Date.parse("2026-01-01T00:00:00Z");
  const points = Array.from({ length: 60 }, (_, i) => ({
    ...{ at: new Date(start + i * 60_000).toISOString(), devices: 30, online: 20 + (i % 10), inSync: 25 },
    ...{ waiting: i % 3, needBytes: 0, problems: 0 },
  }));
  await page.route("**/overview/history*", (route) => route.fulfill({ json: { step: 60, points } }));
  await logIn(page, muster, "anna");
  const curve = page.getByRole("img", { name: "The last day: online" });
  await curve.locator("canvas").waitFor();
  if (process.env.CURVE_SHOT) await page.screenshot({ path: process.env.CURVE_SHOT });
  await context.close();
});

test("a viewer sees everything and is refused politely", async () => {
  const page = await open("vera", "settings");
  const stop = page.getByRole("button", { name: "Observe only" });
  await stop.waitFor();
  expect(await stop.getAttribute("aria-disabled")).toBe("true");
  await stop.hover();
  await page.getByText("Ask a person with the role operator or higher").waitFor();
  await stop.click({ force: true });
  expect(await page.getByRole("dialog").count()).toBe(0);
  const { mode } = await muster.call<{ mode: string }>("GET", "/configurator");
  expect(mode).toBe("on");
  await page.context().close();
});

test("a session that ends asks for the log-in in place, and what was sent goes out then", async () => {
  const page = await open("anna", "templates/new");
  await settle(page);
  await page.getByLabel("Label").fill("Not lost");
  await page.context().clearCookies();
  const editor = page.getByRole("textbox", { name: "Template text" });
  await editor.click();
  await page.keyboard.type("5");
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  await dialog.locator("input[name=password]").fill("correct horse battery");
  const sentAgain = page.waitForResponse((one) => one.url().endsWith("/api/v1/plan") && one.ok());
  await dialog.getByRole("button", { name: "Log in", exact: true }).click();
  await sentAgain;
  await dialog.waitFor({ state: "hidden" });
  expect(await page.getByLabel("Label").inputValue()).toBe("Not lost");
  await page.context().close();
});

const hostile = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>\u202Egnp.exe\u200B🙂${"A".repeat(3000)}`;

test("strings of hostile daemons are text, break no layout and pass the check of accessibility", async () => {
  const { devices } = await muster.call<{ devices: { deviceID: string; label: string }[] }>("GET", "/inventory");
  const victim = devices[0];
  if (!victim) throw new Error("there is no device");
  const device = await muster.call<Record<string, unknown>>("GET", `/devices/${victim.deviceID}`);
  await muster.call("PUT", `/devices/${victim.deviceID}`, { ...device, label: hostile });
  const { id } = await muster.call<{ id: number }>("POST", "/templates", {
    label: hostile,
    priority: 1,
    op: "set",
    key: "options.natEnabled",
    template: "true",
  });
  const page = await open("anna");
  const wrong: string[] = [];
  for (const path of [
    "",
    "devices",
    `devices/${victim.deviceID}`,
    `devices/${victim.deviceID}/plan`,
    `devices/${victim.deviceID}/templates?key=options.natEnabled`,
    `devices/${victim.deviceID}/history`,
    `devices/${victim.deviceID}/settings`,
    "templates",
    "templates/order",
    `templates/${id}`,
    "folders",
    "folders/price-list",
    "folder-matrix",
    "rollouts",
    "rollouts/1",
    "tags",
    "tags/demo",
    "events",
    "audit",
    "settings",
    "settings?tab=people",
    "settings?tab=enrolment",
  ]) {
    await page.goto(`${muster.url}/ui/${path}`);
    await settle(page);
    if (await page.evaluate(() => "owned" in window)) wrong.push(`/${path}: a script ran`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    if (wide) wrong.push(`/${path}: the page is wider than its window`);
    wrong.push(...(await serious(page)).map((fault) => `/${path}: ${fault}`));
  }
  expect(wrong).toEqual([]);
  await page.context().close();
});

test("the policy of the pages blocked nothing of them", () => expect(blocked).toEqual([]));

declare global {
  interface Window {
    axe: typeof axe;
  }
}
