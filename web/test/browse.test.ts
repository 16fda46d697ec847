import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, serious, settle } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

let muster: Muster;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }));
let id = "";

interface Row {
  deviceID: string;
  version: string;
}

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "12"), launch()]);
  await muster.user("anna", "admin");
  await until("all demo devices are read", async () => {
    const { devices } = await muster.call<{ devices: (Row & { configuration: string })[] }>("GET", "/inventory");
    id = devices.find((one) => one.version === "v2.1.3")?.deviceID ?? "";
    return devices.every((one) => one.version !== "" && one.configuration === "inSync");
  });
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

test("the configuration of a device is searched, and a key says where its value comes from", async () => {
  const page = await open("anna", `devices/${id}/configuration`);
  await settle(page);
  const tree = page.getByRole("tree", { name: "Configuration" });
  await tree.getByRole("treeitem", { name: /^options/ }).waitFor();
  await page.getByRole("textbox", { name: "Search keys and values" }).fill("natenabled");
  const key = tree.getByRole("treeitem", { name: /^natEnabled/ });
  await key.waitFor();
  expect(await tree.getByRole("treeitem").count()).toBe(2);
  await key.click();
  await page.getByText(/the default of Syncthing|sets it|somebody set it/i).first().waitFor();
  expect(new URL(page.url()).searchParams.get("key")).toBe("options.natEnabled");
  await page.getByRole("button", { name: "Copy key" }).waitFor();

  // What templates manage, and a link to the template.
  await page.getByRole("textbox", { name: "Search keys and values" }).fill("");
  await page.getByRole("button", { name: "Managed by Muster" }).click();
  await tree.getByText("managed", { exact: true }).first().waitFor();
  await tree.getByText("managed", { exact: true }).first().click();
  await page.getByText("Managed by", { exact: true }).waitFor();
  const managedBy = page.locator(".u-row").filter({ hasText: /^Managed by/ }).getByRole("link").first();
  expect(await managedBy.getAttribute("href")).toMatch(/\/templates\/\d+$/);
  expect(await serious(page)).toEqual([]);

  // The same link shows others the same.
  const other = await open("anna", page.url().split("/ui/")[1] ?? "");
  await other.getByText("Managed by", { exact: true }).waitFor();
  expect(await other.getByRole("button", { name: "Managed by Muster" }).getAttribute("aria-pressed")).toBe("true");
  await other.context().close();
  await close(page);
});

test("the tree of a configuration is walked with the keys alone", async () => {
  const page = await open("anna");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${muster.url}/ui/devices/${id}/configuration`);
  await settle(page);
  const tree = page.getByRole("tree", { name: "Configuration" });
  await tree.getByRole("treeitem").first().waitFor();
  await page.getByRole("button", { name: "Close all" }).click();
  const sections = await tree.getByRole("treeitem").count();
  await tree.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight"); // opens the folders
  await until("the folders are open", async () => (await tree.getByRole("treeitem").count()) > sections);
  await page.keyboard.press("ArrowRight"); // goes into them
  await page.keyboard.press("ArrowRight"); // opens the first one
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await until("the key is chosen", () => Promise.resolve(/[?&]key=folders\./.test(page.url())));
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await until("all is closed again", async () => (await tree.getByRole("treeitem").count()) === sections);
  await close(page);
});

test("a key at which a change waits is marked, and leads to its plan", async () => {
  const made = await muster.call<{ id: number }>("POST", "/templates", {
    ...{ label: "Strict", priority: 90, op: "set", key: "gui.user", template: '"nobody"\n' },
  });
  await muster.call("PUT", `/templates/${made.id}/tags/strict`);
  await muster.call("PUT", `/devices/${id}/tags/strict`);
  await until("the change waits", async () => {
    const { changes } = await muster.call<{ changes: { key: string; class: string }[] }>("GET", `/devices/${id}/plan`);
    return changes.some((one) => one.key === "gui.user" && one.class === "held");
  });
  const page = await open("anna", `devices/${id}/configuration?only=waiting`);
  const key = page.getByRole("treeitem", { name: /^user/ });
  await key.waitFor();
  await key.click();
  await page.getByRole("link", { name: "See the change in the plan" }).waitFor();
  await page.getByText(/"Strict" sets it/).first().waitFor();
  await close(page);
});

test("outdated devices are marked, counted at home and filtered", async () => {
  const { outdated, devices } = await muster.call<{ outdated: { versions: string[] }; devices: Row[] }>("GET", "/inventory");
  const old = devices.filter((one) => outdated.versions.includes(one.version));
  expect(old.length).toBeGreaterThan(0);
  const page = await open("anna");
  await page.getByRole("link", { name: `${old.length} outdated` }).click();
  const rows = page.getByRole("grid", { name: "Devices" }).getByRole("row");
  await until("only the outdated devices show", async () => (await rows.count()) === old.length + 1);
  await page.getByTitle("v1.19.2 is outdated. The newest that devices run is v2.1.3").first().waitFor();
  await page.getByRole("button", { name: "Outdated", exact: true }).click();
  await until("all devices show", async () => (await rows.count()) > old.length + 1);
  await page.getByRole("search").getByRole("button", { name: "Version", exact: true }).click();
  await page.getByRole("textbox", { name: "Before a version" }).fill("2.0");
  await page.keyboard.press("Enter");
  await until("the devices with an older version show", async () => (await rows.count()) === old.length + 1);
  expect(new URL(page.url()).searchParams.get("version")).toBe("<2.0");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Show differences" }).click();
  await until("the view is in the address", () => Promise.resolve(new URL(page.url()).searchParams.get("view") === "differences"));
  await close(page);
});

test("tables are exported, and their order is in the address", async () => {
  const page = await open("anna", "templates");
  await page.getByRole("button", { name: "Template", exact: true }).click();
  await until("the order is in the address", () => Promise.resolve(new URL(page.url()).searchParams.get("sort") === "Template"));
  await page.goto(`${muster.url}/ui/templates?sort=-Template`);
  await page.getByRole("columnheader", { name: "Template" }).and(page.locator("[aria-sort=descending]")).waitFor();
  for (const [path, region] of [
    [`devices/${id}/configuration`, ""],
    [`devices/${id}`, "Folders"],
    [`devices/${id}/templates`, ""],
    ["settings?tab=secrets", "Secrets"],
  ] as const) {
    await page.goto(`${muster.url}/ui/${path}`);
    const place = region ? page.getByRole("region", { name: region, exact: true }) : page.locator("#main");
    await place.getByRole("button", { name: "Export" }).first().click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "JSON, for programs" }).click();
    const file = await (await download).path();
    expect(Array.isArray(JSON.parse(readFileSync(file, "utf8"))), path).toBe(true);
  }
  await close(page);
});
