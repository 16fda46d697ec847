import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, serious, settle, widthOf } from "./browser";
import { Farm } from "./farm";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

const count = 24;

let muster: Muster;
let farm: Farm;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }), { width: 1440, height: 900 });

beforeAll(async () => {
  [muster, farm, browser] = await Promise.all([Muster.start(), Farm.start(count), launch()]);
  for (const [name, role] of Object.entries({ anna: "admin", otto: "operator", vera: "viewer" })) await muster.user(name, role);
  await farm.add(muster);
});

afterAll(async () => {
  await leave(browser);
  farm.stop();
  await muster.stop();
});

interface Order {
  id: number;
  type: string;
  status: string;
  total: number;
  done: number;
  failed: number;
  goOn: boolean;
  devices: { deviceID: string; label: string; state: string }[];
}

const orders = () => muster.call<Order[]>("GET", "/orders");
const labels = async () => (await muster.call<{ label: string }[]>("GET", "/devices")).map(({ label }) => label);

/** tick chooses the first rows of the table of devices. */
async function tick(page: Page, n: number): Promise<void> {
  const boxes = page.getByRole("grid", { name: "Devices" }).getByRole("checkbox", { name: /^Select (?!all)/ });
  for (let i = 0; i < n; i++) await boxes.nth(i).check();
}

async function under(page: Page, menu: string, entry: string | RegExp): Promise<void> {
  await page.getByRole("button", { name: menu }).click();
  await page.getByRole("menuitem", { name: entry }).click();
}

test("an order for all devices that a filter picks is named, given and followed, also by who comes back", async () => {
  const page = await open("otto", "devices");
  await tick(page, 2);
  await page.getByRole("button", { name: `Choose all ${count} that show` }).click();
  await under(page, "Their daemons", /^Rescan/);
  const dialog = page.getByRole("dialog", { name: `Rescan: ${count} devices?` });
  await dialog.getByText(`and ${count - 10} more`).waitFor();
  await dialog.getByText("Eight devices at once.").waitFor();
  expect(await serious(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Rescan", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await page.goto(`${muster.url}/ui/devices`); // The page forgets, the server does not.
  const progress = page.getByRole("region", { name: "For many devices" });
  await progress.getByText(`Rescan: ${count} of ${count} devices`).waitFor();
  const given = (await orders())[0];
  expect(given).toMatchObject({ type: "rescan", status: "done", total: count, done: count, goOn: true });
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await widthOf(page)).toBeLessThanOrEqual(390);
  await close(page);
});

test("where an order fails, the reason shows, and it is given again to those only", async () => {
  const [device] = await muster.call<{ deviceID: string; label: string }[]>("GET", "/devices");
  if (!device) throw new Error("there is no device");
  const setMode = (mode: string) => muster.call("PUT", `/devices/${device.deviceID}/settings`, { mode });
  const page = await open("anna", "devices");
  await tick(page, 3);
  await under(page, "Their daemons", /^Restart/);
  const dialog = page.getByRole("dialog", { name: "Restart: 3 devices?" });
  await dialog.getByText("those after it are told nothing").waitFor(); // as long as it does not go on
  await dialog.getByLabel("Go on with the others where it fails").check();
  await setMode("observe"); // Somebody else does, meanwhile.
  const shrunk = page.getByRole("dialog", { name: "Restart: 2 devices?" });
  await shrunk.getByText("Muster does not write to 1 device").waitFor();
  await shrunk.getByRole("button", { name: "Cancel" }).click();
  await muster.call("POST", "/orders", {
    type: "restart",
    goOn: true,
    devices: (await muster.call<{ deviceID: string }[]>("GET", "/devices")).slice(0, 3).map(({ deviceID }) => deviceID),
  });
  await until("the order has ended", async () => (await orders())[0]?.status === "failed");
  await page.goto(`${muster.url}/ui/devices/${device.deviceID}`);
  const panel = page.getByRole("region", { name: "The daemon" });
  await panel.getByText("Restart: 3 of 3 devices, 1 failed").waitFor();
  await panel.getByRole("button", { name: "Why, and again" }).click();
  const detail = page.getByRole("dialog", { name: "Restart: 3 of 3 devices, 1 failed" });
  await detail.getByText("Muster does not write to this device").first().waitFor();
  expect(await serious(page)).toEqual([]);
  await setMode("on");
  await detail.getByRole("button", { name: "Again for 1 device" }).click();
  const again = page.getByRole("dialog", { name: "Restart again, for 1 device?" });
  await again.getByText(device.label).waitFor();
  await again.getByRole("button", { name: "Restart", exact: true }).click();
  await until("the order is given again, to that one", async () => {
    const [order] = await orders();
    return order?.type === "restart" && order.devices.length === 1 && order.devices[0]?.deviceID === device.deviceID;
  });
  await close(page);
});

test("who may not give orders reads why on the buttons, and devices that Muster does not write to are left out", async () => {
  const viewer = await open("vera", "devices");
  await tick(viewer, 1);
  const button = viewer.getByRole("button", { name: "Their daemons" });
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  await button.hover();
  await viewer.getByText("Your role, viewer, may not do that").first().waitFor();
  await close(viewer);

  const [first] = await muster.call<{ deviceID: string; label: string }[]>("GET", "/devices");
  await muster.call("PUT", `/devices/${first?.deviceID}/settings`, { mode: "observe" });
  const page = await open("otto", "devices");
  await tick(page, 3);
  await under(page, "Their daemons", /^Restart/);
  const dialog = page.getByRole("dialog", { name: "Restart: 2 devices?" });
  await dialog.getByText("Muster does not write to 1 device that you chose").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await muster.call("PUT", `/devices/${first?.deviceID}/settings`, { mode: "on" });
  await close(page);
});

test("a tag for many devices is put on in one change, and taken off again from its message", async () => {
  const page = await open("anna", "devices");
  await page.getByLabel(/^Select all/).check();
  await page.getByRole("button", { name: "Add tag" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a tag" });
  await dialog.getByRole("combobox").fill("all of them");
  await dialog.getByText("No device changes").waitFor();
  const generation = async () => (await muster.call<{ generation: number }>("POST", "/plan", {})).generation;
  const tagged = async () => (await muster.call<unknown[]>("GET", "/tags/all%20of%20them/devices")).length;
  const before = await generation();
  await dialog.getByRole("button", { name: "Save for no device" }).click();
  await until("they are tagged", async () => (await tagged()) === count);
  expect(await generation()).toBe(before + 1);
  await page.getByRole("alert").filter({ hasText: "Saved" }).getByRole("button", { name: "Undo" }).click();
  await until("the tag is off them", async () => (await tagged()) === 0);
  await muster.call("POST", "/changes", {
    tags: { added: (await muster.call<{ deviceID: string }[]>("GET", "/devices")).map(({ deviceID }) => ({ tag: "all of them", device: deviceID })) },
  });
  await close(page);
});

test("modes of many devices are sent by the page, which goes on while one looks elsewhere", async () => {
  const page = await open("anna", "devices");
  await page.getByLabel(/^Select all/).check();
  await under(page, "What Muster does", /^Write again/);
  await page.getByRole("dialog", { name: `Have Muster write again to ${count} devices?` }).getByRole("button", { name: "Write again" }).click();
  await page.getByRole("link", { name: "Tags", exact: true }).click();
  await page.getByText(`Muster writes again: ${count} devices.`).waitFor();
  await page.getByRole("link", { name: "Devices", exact: true }).click();
  await page.getByRole("region", { name: "For many devices" }).getByText(`${count} of ${count} devices`).first().waitFor();
  await close(page);
});

test("a removal says what it costs, and removes those that were named", async () => {
  const names = await labels();
  const page = await open("anna", "devices");
  await tick(page, 2);
  await page.getByRole("button", { name: "Remove…" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove 2 devices?" });
  await dialog.getByText("nothing brings them back").waitFor();
  await dialog.getByRole("button", { name: "Plan what other devices lose" }).click();
  await dialog.getByText(/No device (that stays )?changes/).first().waitFor();
  expect(await serious(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await until("they are gone", async () => (await labels()).length === count - 2);
  expect(await labels()).toEqual(names.slice(2));
  await close(page);
});

test("the search does what it names, and offers only what the role may", async () => {
  const page = await open("otto", "");
  const [first] = await labels();
  const search = async (text: string) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill(text);
  };
  await search(`rescan ${first}`);
  await page.getByRole("option", { name: `Rescan ${first}` }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Rescan: 1 device?" }).getByRole("button", { name: "Rescan", exact: true }).click();
  await until("the order is given", async () => {
    const [order] = await orders();
    return order?.type === "rescan" && order.devices.length === 1 && order.devices[0]?.label === first;
  });
  await search("stop all writes");
  await page.getByRole("option", { name: /^Stop writing/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Stop writing to every device?" }).getByRole("button", { name: "Stop writing" }).click();
  await page.getByText("Observe only: Muster plans").waitFor();
  await search("resume all writes");
  await page.getByRole("option", { name: /Search the manual/ }).waitFor();
  expect(await page.getByRole("option", { name: /^Write again/ }).count()).toBe(0); // An administrator may.
  await page.keyboard.press("Escape");
  await muster.call("PUT", "/configurator", { mode: "on" });
  await close(page);

  const admin = await open("anna", "");
  await admin.keyboard.press("Control+k");
  await admin.getByRole("combobox", { name: "Search" }).fill("link for vera");
  await admin.getByRole("option", { name: "Make a log-in link for vera" }).waitFor();
  await admin.keyboard.press("Enter");
  await admin.getByRole("button", { name: "Make it" }).click();
  await admin.getByRole("dialog", { name: "Log-in link for vera" }).getByText(/login\?code=/).waitFor();
  await close(admin);
});

test("a message about a change of many devices undoes its rollout, with the plan of that first", async () => {
  const page = await open("anna", "templates/new");
  await page.getByLabel("Label", { exact: true }).fill("Slow");
  await page.getByRole("combobox", { name: "Key", exact: true }).fill("options.maxSendKbps");
  await page.getByRole("combobox", { name: "Op" }).click();
  await page.getByRole("option", { name: "set", exact: true }).click();
  await page.getByRole("combobox", { name: "Tags", exact: true }).fill("all of them");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Template text" }).click();
  await page.keyboard.type("2000");
  await page.getByRole("button", { name: /^Create for/ }).click();
  const message = page.getByRole("alert").filter({ hasText: "Rollout" });
  await message.getByRole("button", { name: "Undo…" }).click();
  const dialog = page.getByRole("dialog", { name: /^Undo rollout \d+\?$/ });
  await dialog.getByRole("button", { name: "Undo", exact: true }).click();
  await until("the template is gone", async () => (await muster.call<unknown[]>("GET", "/templates")).length === 0);
  await close(page);
});

test("devices stay chosen while one searches for the next one", async () => {
  const [first, second, third] = (await labels()).slice(-3); // no label of these is a part of another
  if (!first || !second || !third) throw new Error("there are too few devices");
  const page = await open("anna", "devices");
  const search = page.getByRole("textbox", { name: "Search devices" });
  const only = async (label: string) => {
    await search.fill(label);
    await page.getByText(/^1 of \d+ devices$/).waitFor();
  };
  for (const label of [first, second]) {
    await only(label);
    await page.getByRole("checkbox", { name: `Select ${label}` }).check();
  }
  await page.getByText("2 devices chosen").waitFor();
  await page.getByText("1 of them does not show").waitFor();

  await only(third);
  await page.getByText("2 of them do not show").waitFor();
  await page.getByRole("checkbox", { name: "Select all 1 row" }).check();
  await page.getByText("3 devices chosen").waitFor();
  await page.getByRole("button", { name: "Remove…" }).click();
  const dialog = page.getByRole("dialog");
  for (const label of [first, second, third]) await dialog.getByText(label, { exact: true }).first().waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Leave them out" }).click();
  await page.getByText("1 device chosen").waitFor();
  await only(second);
  expect(await page.getByRole("checkbox", { name: `Select ${second}` }).isChecked()).toBe(false);
  await close(page);
});

test("every key on the sheet of keys does what it says", async () => {
  const page = await open("anna", "devices");
  await settle(page);
  const sheet = page.getByRole("dialog", { name: "Keys" });
  const capsIn = async (part: string) => {
    await page.locator("h1").click();
    await page.keyboard.press("?");
    await sheet.getByRole("heading", { name: part, exact: true }).waitFor();
    const caps = await sheet.locator(".u-stack", { has: page.getByRole("heading", { name: part, exact: true }) }).locator("dt").allTextContents();
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });
    return caps;
  };
  expect(await capsIn("Everywhere")).toEqual(["CtrlK", "/", "?", "g"]);
  const toPages = await capsIn("To a page");
  expect(toPages.length).toBeGreaterThan(7);
  for (const cap of toPages) {
    await page.keyboard.press("g");
    await page.keyboard.press(cap.slice(1));
    await settle(page);
  }
  expect(new URL(page.url()).pathname).toBe("/ui/settings");
  await page.goto(`${muster.url}/ui/devices`);
  await page.getByRole("grid", { name: "Devices" }).waitFor();
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Search devices");

  const table = page.getByRole("grid", { name: "Devices" });
  const current = () => table.locator("[data-current]").getAttribute("aria-rowindex");
  const rows = String((await labels()).length + 1);
  const does: Record<string, () => Promise<unknown>> = {
    "↓": async () => expect(await current()).toBe("2"),
    "↑": async () => expect(await current()).toBe("2"),
    "Page down": async () => expect(await current()).toBe("17"),
    "Page up": async () => expect(await current()).toBe("2"),
    Home: async () => expect(await current()).toBe("2"),
    End: async () => expect(await current()).toBe(rows),
    Space: () => page.getByText("1 device chosen").waitFor(),
    Enter: () => page.waitForURL(/\/ui\/devices\/[A-Z0-9-]+$/),
  };
  const caps = await capsIn("In a table, once it has the focus");
  expect([...caps].sort()).toEqual(Object.keys(does).sort());
  await table.focus();
  const keyOf: Record<string, string> = { "↓": "ArrowDown", "↑": "ArrowUp", "Page down": "PageDown", "Page up": "PageUp" };
  for (const [cap, holds] of Object.entries(does)) {
    await page.keyboard.press(keyOf[cap] ?? cap);
    await holds();
  }
  await close(page);
});
