import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, newPage, settle } from "./browser";
import { crawl } from "./crawl";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

// What people read and may press, by somebody who never saw the API.
let muster: Muster;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "30"), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("vera", "viewer")]);
  await until("the demo has registered its devices, and they were read", async () => {
    const { devices, configurations } = await muster.call<{ devices: number; configurations: Record<string, number> }>("GET", "/overview");
    return devices >= 30 && (configurations.unknown ?? 0) === 0;
  });
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

const first = ["", "devices", "templates", "rollouts", "folders", "tags", "settings"];
const terms = /\/api\/v1|\b(GET|PUT|POST|DELETE) |\b(the body|query parameter|ETag|If-Match)\b/;

test("no page names an operation, a body or a parameter of the API, and no button of a viewer is refused", async () => {
  const page = await open("vera", "");
  const refused: string[] = [];
  let pressed = "";
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(`${pressed}: ${response.request().method()} ${response.url()}`);
  });
  const named: string[] = [];
  const visited = await crawl(page, `${muster.url}/ui/`, first, async (name) => {
    pressed = name;
    const text = await page.getByRole("main").innerText();
    const found = terms.exec(text);
    if (found) named.push(`${name}: ${text.slice(Math.max(0, found.index - 60), found.index + 60)}`);
    for (const button of await buttonsOf(page)) {
      pressed = `${name}: ${button}`;
      await press(page, button);
    }
  });
  expect(visited.length).toBeGreaterThan(15);
  expect(named).toEqual([]);
  expect(refused).toEqual([]);
  await close(page);
});

// They end the session, leave the page once a ticket is there, or there is one for each row.
const leaves = /^(Copy|Log out|End|Select|Remove the filter|Open)/;

/** buttonsOf are the names of the buttons of a page that can be pressed, those that differ by a number once. */
async function buttonsOf(page: Page): Promise<string[]> {
  const all = await page
    .locator("main button:not([disabled]):not([aria-disabled=true]):not([role=tab])")
    .evaluateAll((found) => found.map((one) => one.getAttribute("aria-label") ?? one.textContent.trim()));
  const kindsOf = new Map(all.filter((name) => name !== "" && !leaves.test(name)).map((name) => [name.replace(/\d+/g, "N"), name]));
  return [...kindsOf.values()].slice(0, process.env.MUSTER_SOAK ? 12 : 3);
}

/** press presses a button, and what a dialog asks then. */
async function press(page: Page, name: string): Promise<void> {
  const at = page.url();
  const button = page.locator("main").getByRole("button", { name, exact: true }).first();
  if (!(await button.isVisible())) return;
  await button.click();
  const dialog = page.getByRole("dialog");
  if ((await dialog.count()) > 0) {
    const verbs = dialog.locator("button:not([disabled]):not([aria-disabled=true])").filter({ hasNotText: /^(Cancel|)$/ });
    if ((await verbs.count()) > 0) await verbs.last().click();
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  if (page.url() !== at) await page.goto(at);
  await settle(page);
}

test("a change has a title, its toast leads to its rollout, and the audit keeps both after a deletion", async () => {
  const page = await open("anna", "templates/new");
  await settle(page);
  await page.getByLabel("Label").fill("Slower reconnects");
  await page.getByRole("combobox", { name: "Key" }).fill("options.reconnectionIntervalS");
  await page.getByRole("combobox", { name: "Op" }).click();
  await page.getByRole("option", { name: "set" }).click();
  await page.getByRole("combobox", { name: "Tags" }).fill("demo");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Template text" }).click();
  await page.keyboard.type("90");
  await page.getByLabel("What for").fill("Fewer dials in Köln");
  await page.getByRole("button", { name: "Create for 30 devices" }).click();
  const link = page.locator(".mantine-Notifications-root").getByRole("link", { name: /^Rollout \d+$/ });
  await link.click();
  await page.getByRole("heading", { level: 1, name: /^Rollout \d+$/ }).waitFor();
  await page.getByText("Fewer dials in Köln").first().waitFor();
  await page.getByText("Succeeded").first().waitFor();
  await page.getByRole("main").getByRole("link", { name: "Slower reconnects" }).click();
  await page.getByRole("heading", { level: 1, name: "Slower reconnects" }).waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("What for").fill("No longer needed");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Templates" }).waitFor();
  await page.goto(`${muster.url}/ui/audit`);
  await page.getByText("Fewer dials in Köln").first().waitFor();
  await page.getByText("No longer needed").first().waitFor();
  const deleted = page.getByRole("row").filter({ hasText: "template.delete" }).first();
  await deleted.getByText("Slower reconnects").first().waitFor();
  await close(page);
});

/** rolloutOf waits for the rollout of a change: it begins after the change is answered. */
async function rolloutOf(generation: number): Promise<number> {
  let id = 0;
  await until(`the change of generation ${generation} has a rollout`, async () => {
    const [newest] = await muster.call<{ id: number; generation: number }[]>("GET", "/rollouts");
    if (newest && newest.generation >= generation) id = newest.id;
    return id > 0;
  });
  return id;
}

test("a template whose creation was undone keeps its name in the audit", async () => {
  const quiet = { label: "Quiet nights", op: "set", key: "options.urAccepted", template: "-1", tags: ["demo"] };
  type Applied = { generation: number; newTemplates: number[] };
  const { generation, newTemplates } = await muster.call<Applied>("POST", "/changes", { templates: { new: [quiet] } });
  expect(newTemplates).toHaveLength(1);
  const rollout = await rolloutOf(generation);
  const { shown } = await muster.call<{ shown?: unknown[] }>("GET", `/rollouts/${rollout}/undo`);
  await muster.call("POST", `/rollouts/${rollout}/undo`, { shown: shown ?? [] });
  const page = await open("anna", "audit");
  const rows = page.getByRole("row").filter({ hasText: "template." });
  for (const what of ["template.create", "template.tag", "template.delete"]) {
    await rows.filter({ hasText: what }).filter({ hasText: "Quiet nights" }).first().waitFor();
  }
  expect(await page.getByText(`template ${newTemplates[0]}`, { exact: true }).count()).toBe(0);
  await close(page);
});

test("the whole version of each device shows in its column", async () => {
  const page = await open("vera", "devices");
  await settle(page);
  const head = page.getByRole("columnheader", { name: "Version" });
  await head.waitFor();
  const cut = await page.locator(".u-vrow .u-clip").evaluateAll((cells) =>
    cells
      .filter((cell) => /^v\d/.test(cell.textContent))
      .map((cell) => ({ text: cell.textContent, isCut: cell.scrollWidth > cell.clientWidth })),
  );
  expect(cut.length).toBeGreaterThan(5);
  expect(cut.filter(({ isCut }) => isCut)).toEqual([]);
  // What a daemon calls a version before it is released is the longest there is.
  const isCut = await page.locator(".u-vrow .u-clip").filter({ hasText: /^v\d/ }).first().evaluate((cell) => {
    cell.textContent = "v2.1.0-rc.12";
    return cell.scrollWidth > cell.clientWidth;
  });
  expect(isCut).toBe(false);
  await close(page);
});

test("what a rollout still brings stands in sentences on its page", async () => {
  const all = (await muster.call<{ deviceID: string }[]>("GET", "/devices")).slice(0, 20); // fewer need no rollout
  const give = (mode: string) => Promise.all(all.map(({ deviceID }) => muster.call("PUT", `/devices/${deviceID}/settings`, { mode })));
  const { newTemplates } = await muster.call<{ newTemplates: number[] }>("POST", "/changes", {
    templates: { new: [{ label: "Rest", op: "set", key: "options.maxSendKbps", template: "250", tags: ["rest"] }] },
  });
  expect(newTemplates).toHaveLength(1);
  await give("observe"); // or the rollout would be over before its page is open
  await muster.call("POST", "/changes", {
    tags: { added: all.map(({ deviceID }) => ({ tag: "rest", device: deviceID })) },
  });
  let rollout = 0;
  await until("the rollout has begun", async () => {
    const [newest] = await muster.call<{ id: number; status: string; cause: string }[]>("GET", "/rollouts");
    rollout = newest?.id ?? 0;
    return newest?.cause === "rest: added to 20 devices";
  });
  const page = await open("vera", `rollouts/${rollout}`);
  await page.getByText(/options\.maxSendKbps becomes 250 instead of 0 on /).waitFor();
  await give("on");
  await close(page);
});

test("vars keep every digit, a menu with many tags is searched, and the manual is there before the log-in", async () => {
  const [device] = await muster.call<{ deviceID: string }[]>("GET", "/devices");
  if (!device) throw new Error("the demo has no devices");
  for (let i = 0; i < 12; i++) await muster.call("PUT", `/devices/${device.deviceID}/tags/site-${i}`);
  await muster.call("POST", "/changes", { vars: { devices: { [device.deviceID]: { small: 1 } } } });
  const page = await open("anna", `devices/${device.deviceID}/settings`);
  const vars = page.getByLabel("One NAME = VALUE on each line");
  await vars.fill("small = 1\nbig = 9007199254740993");
  await page.getByRole("button", { name: "Save for no device" }).click();
  const stored = async () => {
    const answer = await fetch(`${muster.url}/api/v1/devices/${device.deviceID}/vars`, { headers: { Authorization: `Bearer ${muster.token}` } });
    return answer.text();
  };
  await until("the var is stored as it was written", async () => (await stored()).includes("9007199254740993"));
  await vars.fill("small = 2\nbig = 9007199254740993");
  await page.getByRole("button", { name: "Save for no device" }).click();
  await until("the other var is stored too", async () => (await stored()).includes('"small":2'));
  expect(await stored()).toContain("9007199254740993");

  await page.getByRole("button", { name: "Save for no device" }).waitFor({ state: "detached" });
  expect(await vars.inputValue()).toBe("small = 2\nbig = 9007199254740993"); // as it was typed
  await vars.fill("small = 3");
  await muster.call("POST", "/changes", { vars: { devices: { [device.deviceID]: { theirs: 1 } } } });
  await page.getByText(/Somebody else has changed these vars/).waitFor();
  expect(await vars.inputValue()).toBe("small = 3");
  await page.getByRole("button", { name: "Show theirs, and discard yours" }).click();
  await until("their vars show", async () => (await vars.inputValue()) === "theirs = 1");

  await page.goto(`${muster.url}/ui/devices`);
  await settle(page);
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await page.getByLabel("Search Tag").fill("site-11");
  await until("one tag is left", async () => (await page.getByRole("menuitemcheckbox").count()) === 1);
  await page.getByRole("menuitemcheckbox", { name: /site-11/ }).click();
  await page.getByText(/^1 of \d+ devices$/).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByText("All rows that the filters pick").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("checkbox", { name: /^Select / }).last().click();
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByText("Only the 1 selected row").waitFor();
  await close(page);

  const before = await newPage(browser);
  await before.goto(`${muster.url}/ui/`);
  await before.getByRole("link", { name: "Manual" }).click();
  await before.waitForURL(/\/docs\//);
  await before.getByRole("heading", { level: 1 }).waitFor();
  await before.context().close();
});

test("the menu of columns changes what a narrow screen shows", async () => {
  const page = await open("anna", "devices");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("columnheader", { name: "Connection" }).waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Connection" }).click();
  await until("the column is gone", async () => (await page.getByRole("columnheader", { name: "Connection" }).count()) === 0);
  await page.getByRole("columnheader", { name: "To go" }).waitFor();
  await close(page);
});
