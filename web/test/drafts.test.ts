import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, serious } from "./browser";
import { Daemon } from "./daemon";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

let muster: Muster;
let daemon: Daemon;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }), { width: 1440, height: 900 });

beforeAll(async () => {
  [muster, daemon, browser] = await Promise.all([Muster.start(), Daemon.start(), launch()]);
  await muster.user("anna", "admin");
  await muster.call("PUT", `/devices/${daemon.id}`, {
    label: "laptop",
    apiKey: daemon.apiKey,
    apiAddress: "127.0.0.1",
    apiPort: daemon.port,
  });
  await until("the daemon is read", async () => {
    const { connection } = await muster.call<{ connection: string }>("GET", `/devices/${daemon.id}/state`);
    return connection === "online";
  });
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove()]);
});

const kept = (page: Page) => page.getByRole("note").filter({ hasText: /A draft from \d\d:\d\d:\d\d, which was not saved/ });

test("the text of a template survives Back, the search and a reload, and is continued or discarded", async () => {
  const { id } = await muster.call<{ id: number }>("POST", "/templates", {
    label: "Relays",
    op: "set",
    key: "options.relaysEnabled",
    template: "false\n",
  });
  const page = await open("anna", "templates");
  await page.getByRole("link", { name: "Relays" }).first().click();
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("true # not yet");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Templates" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).fill("Relays");
  await page.getByRole("option", { name: /^Relays/ }).waitFor();
  await page.keyboard.press("Enter");
  await kept(page).waitFor();
  expect(await editor.textContent()).toContain("not yet");
  expect(await serious(page)).toEqual([]);
  await kept(page).getByRole("button", { name: "Continue with it" }).click();
  await kept(page).waitFor({ state: "detached" });
  expect(await editor.textContent()).toContain("not yet");

  const asked = page.waitForEvent("dialog");
  const reloaded = page.reload();
  await (await asked).accept(); // The browser asks first.
  await reloaded;
  await kept(page).getByRole("button", { name: "Discard it" }).click();
  await until("the stored text shows", async () => (await editor.textContent())?.includes("false") === true);
  await page.reload();
  await editor.waitFor();
  expect(await kept(page).count()).toBe(0);
  expect(await muster.call("GET", `/templates/${id}`)).toMatchObject({ template: "false\n" });
  await close(page);
});

test("vars and the name of a device come back, the API key does not", async () => {
  const page = await open("anna", `devices/${daemon.id}/settings`);
  await page.getByLabel("One NAME = VALUE on each line").fill("upload = 2000");
  await page.getByLabel("Label", { exact: true }).fill("laptop of anna");
  await page.getByLabel("Replace the API key").fill("a key that nobody may keep");
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  await page.goBack();
  await until("both tell of their drafts", async () => (await kept(page).count()) === 2);
  expect(await page.getByLabel("One NAME = VALUE on each line").inputValue()).toBe("upload = 2000");
  expect(await page.getByLabel("Label", { exact: true }).inputValue()).toBe("laptop of anna");
  expect(await page.getByLabel("Replace the API key").inputValue()).toBe("");
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("nobody may keep");
  for (let left = 2; left > 0; left--) await kept(page).first().getByRole("button", { name: "Discard it" }).click();
  await close(page);
});

/** goAndComeBack goes to another page of the console and comes back. */
async function goAndComeBack(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  await page.goBack();
}

test("a setting of the server, directories of a tag and a device to add come back, the API key does not", async () => {
  const page = await open("anna", "settings?tab=general");
  const setting = page.locator('[data-setting="approvalThreshold"]');
  await setting.getByRole("button", { name: "Change approvalThreshold" }).click();
  await setting.getByRole("textbox").fill("77");
  await goAndComeBack(page);
  await kept(page).waitFor();
  expect(await setting.getByRole("textbox").inputValue()).toBe("77");
  await setting.getByRole("button", { name: "Cancel" }).click();
  await goAndComeBack(page);
  await setting.getByRole("button", { name: "Change approvalThreshold" }).click();
  expect(await setting.getByRole("textbox").inputValue()).not.toBe("77");
  await setting.getByRole("button", { name: "Cancel" }).click();

  await page.goto(`${muster.url}/ui/tags/office`);
  const roots = page.getByRole("region", { name: "Further folder roots" });
  await roots.getByLabel("One directory on each line").fill("/srv/office");
  await goAndComeBack(page);
  await kept(page).waitFor();
  expect(await roots.getByLabel("One directory on each line").inputValue()).toBe("/srv/office");
  const stored = (roots: string[]) => async () =>
    (await muster.call<{ folderRoots: string[] }>("GET", "/tags/office/settings")).folderRoots.join() === roots.join();
  await roots.getByRole("button", { name: "Save" }).click();
  await until("they are stored", stored(["/srv/office"]));
  await page.getByRole("alert").filter({ hasText: "Saved" }).getByRole("button", { name: "Undo" }).click();
  await until("they are taken back", stored([]));

  await page.goto(`${muster.url}/ui/devices?add=1`);
  const dialog = page.getByRole("dialog", { name: "Add devices" });
  await dialog.getByRole("tab", { name: "One, by address" }).click();
  const field = (label: string) => dialog.getByLabel(label, { exact: true });
  await field("Label").fill("desk of otto");
  await field("API key").fill("a key that nobody may keep");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Add devices" }).click();
  await kept(page).waitFor();
  expect([await field("Label").inputValue(), await field("API key").inputValue()]).toEqual(["desk of otto", ""]);
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("nobody may keep");
  await kept(page).getByRole("button", { name: "Discard it" }).click();
  expect(await field("Label").inputValue()).toBe("");
  await close(page);
});

test("a role and a tag that was taken off everything are taken back from their messages", async () => {
  await muster.user("otto", "operator");
  await muster.call("PUT", `/devices/${daemon.id}/tags/passing`);
  const page = await open("anna", "settings?tab=people");
  await page.getByRole("combobox", { name: "Role of otto" }).click();
  await page.getByRole("option", { name: "author", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "otto is author now" }).getByRole("button", { name: "Undo" }).click();
  await until("otto is an operator again", async () => {
    const users = await muster.call<{ name: string; role: string }[]>("GET", "/users");
    return users.find(({ name }) => name === "otto")?.role === "operator";
  });
  const roles = await muster.call<{ subject: string; detail: string }[]>("GET", "/audit?what=user.role");
  expect(roles.filter(({ subject }) => subject === "otto").length).toBe(2);

  const tags = () => muster.call<string[]>("GET", `/devices/${daemon.id}/tags`);
  await page.goto(`${muster.url}/ui/tags`);
  await page.getByRole("row").filter({ hasText: "passing" }).getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the tag" }).click();
  await until("the tag is off", async () => !(await tags()).includes("passing"));
  await page.getByRole("alert").filter({ hasText: "The tag passing is gone" }).getByRole("button", { name: "Undo" }).click();
  await until("the tag is on again", async () => (await tags()).includes("passing"));
  await muster.call("DELETE", `/devices/${daemon.id}/tags/passing`);
  await close(page);
});

test("a message about a change takes it back, also one about a new template", async () => {
  const page = await open("anna", `devices/${daemon.id}/settings`);
  await page.getByLabel("Label", { exact: true }).fill("renamed");
  await page.getByRole("region", { name: "Name and access" }).getByRole("button", { name: "Save", exact: true }).click();
  const labelled = (label: string) => async () =>
    (await muster.call<{ label: string }>("GET", `/devices/${daemon.id}`)).label === label;
  await until("it is renamed", labelled("renamed"));
  const message = (text: string) => page.getByRole("alert").filter({ hasText: text });
  await message("Saved").getByRole("button", { name: "Undo" }).click();
  await message("Taken back: Saved").waitFor();
  await until("it has its former name", labelled("laptop"));

  await page.goto(`${muster.url}/ui/devices/${daemon.id}`);
  await page.getByLabel("New tag").fill("office");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Add the tag" }).click();
  await message("The tag office is on this device").getByRole("button", { name: "Undo" }).click();
  await until("the tag is off", async () => (await muster.call<string[]>("GET", `/devices/${daemon.id}/tags`)).length === 0);

  await muster.call("PUT", `/devices/${daemon.id}/tags/office`);
  await page.goto(`${muster.url}/ui/templates/new`);
  await page.getByLabel("Label", { exact: true }).fill("Slow");
  await page.getByRole("combobox", { name: "Key", exact: true }).fill("options.maxSendKbps");
  await page.getByRole("combobox", { name: "Op" }).click();
  await page.getByRole("option", { name: "set", exact: true }).click();
  await page.locator(".cm-content").click();
  await page.keyboard.type("2000");
  await page.getByRole("combobox", { name: "Tags", exact: true }).fill("office");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Create/ }).click();
  await message("Saved").getByRole("button", { name: "Undo", exact: true }).click(); // Of one device: it has no rollout.
  await until("the template is gone", async () => {
    const all = await muster.call<{ label: string }[]>("GET", "/templates");
    return !all.some(({ label }) => label === "Slow");
  });
  await close(page);
});

test("a restore shows first what it changes, and what templates keep as it is", async () => {
  const revisions = () => muster.call<{ number: number }[]>("GET", `/devices/${daemon.id}/revisions`);
  const newest = (await revisions())[0]?.number ?? 0;
  const { id } = await muster.call<{ id: number }>("POST", "/templates", {
    label: "Interval",
    op: "set",
    key: "options.reconnectionIntervalS",
    template: "77\n",
  });
  await muster.call("PUT", `/devices/${daemon.id}/tags/interval`);
  await muster.call("PUT", `/templates/${id}/tags/interval`);
  await until("the template came through", async () => ((await revisions())[0]?.number ?? 0) > newest);
  const page = await open("anna", `devices/${daemon.id}/history`);
  await page.getByRole("button", { name: `Restore revision ${newest}`, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: `Restore revision ${newest}?` });
  await dialog.getByText("Not restored, 1 change:").waitFor();
  await dialog.getByText("reconnectionIntervalS").first().waitFor();
  expect(await serious(page)).toEqual([]);
  await close(page);
});
