import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lasting, launch, leave, newPage, serious, settle, widthOf } from "./browser";
import { crawl } from "./crawl";
import { Daemon } from "./daemon";
import { asks, broken, hostile, stranger } from "./hostile";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

// One server with thirty simulated daemons, a real one and a browser are for all of these, in their order. Waves of a
// rollout are far enough apart for one to be paused between two of them.
let muster: Muster;
let daemon: Daemon;
let browser: Browser;
const { open, close, blocked } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  const server = Muster.start("--demo", "30", "--soak", "5s");
  [muster, daemon, browser] = await Promise.all([server, Daemon.start(), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("vera", "viewer")]);
  await until("all demo devices are in sync", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === 30;
  });
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove()]);
});

test("a wrong password is refused, the right one leads to the page that was asked for", async () => {
  const page = await newPage(browser);
  await page.goto(`${muster.url}/ui/devices?q=nas`);
  await page.locator("input[name=userid]").fill("anna");
  await page.locator("input[name=password]").fill("a wrong password");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("alert").getByText("The user name or the password is wrong").waitFor();
  await page.context().close();
  const again = await open("anna", "devices?q=nas");
  await again.getByRole("heading", { name: "Devices" }).waitFor();
  expect(await again.getByLabel("Search devices").inputValue()).toBe("nas");
  await close(again);
});

test("a real daemon is added by its address, and tagged", async () => {
  const page = await open("anna", "devices");
  await page.getByRole("button", { name: "Add devices" }).click();
  const dialog = page.getByRole("dialog", { name: "Add devices" });
  await dialog.getByRole("tab", { name: "One, by address" }).click();
  await dialog.getByLabel("Device ID").fill(daemon.id);
  await dialog.getByLabel("Label").fill("real-laptop");
  await dialog.getByLabel("Address of its GUI").fill("127.0.0.1");
  await dialog.getByLabel("Port").fill(String(daemon.port));
  await dialog.getByLabel("API key").fill(daemon.apiKey);
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByText("31 devices").waitFor();
  await page.goto(`${muster.url}/ui/devices/${daemon.id}`);
  await page.getByText("Online").first().waitFor(); // by events: the first contact comes after the page
  await page.getByLabel("New tag").fill("demo");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const tagging = page.getByRole("dialog", { name: "Put the tag demo on this device?" });
  await tagging.getByText("No device changes").waitFor(); // by the plan: the daemon has no relays already
  await tagging.getByRole("button", { name: "Add the tag" }).click();
  await page.getByRole("button", { name: "Remove the tag demo" }).waitFor();
  await until("the device is in sync with its templates", async () => {
    const state = await muster.call<{ configuration: string }>("GET", `/devices/${daemon.id}/state`);
    return state.configuration === "inSync";
  });
  await close(page);
});

test("a device is found by typing, and its page says how it stands, by keyboard alone", async () => {
  const page = await open("anna", "devices");
  await settle(page);
  await page.getByRole("grid", { name: "Devices" }).waitFor();
  await page.locator("#main").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("fjord-edge");
  await page.getByText("1 of 31 devices").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("fjord-edge");
  await page.getByRole("grid", { name: "Devices" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "fjord-edge-000" }).waitFor();
  await page.getByText("The daemon has what its templates ask for").waitFor();
  await page.getByText("Price list").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("slow line"); // at once: the field may not have the focus yet
  await page.getByRole("dialog").getByText("Slow line in Lima").waitFor();
  expect(await page.getByRole("combobox", { name: "Search" }).inputValue()).toBe("slow line");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Slow line in Lima" }).waitFor();
  await close(page);
});

test("an ID is copied in its row, which stays, and a link leads on without a new page", async () => {
  const page = await open("anna", "devices?q=birch-server-0");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const row = page.getByRole("row").filter({ hasText: "birch-server-0" }).first();
  const copy = row.getByRole("button", { name: /^Copy device ID / });
  const id = (await copy.getAttribute("aria-label"))?.replace("Copy device ID ", "") ?? "";
  await copy.click();
  await until("the clipboard has the ID", async () => (await page.evaluate(() => navigator.clipboard.readText())) === id);
  await page.evaluate(() => document.body.setAttribute("data-same", "page"));
  await row.getByRole("link").click();
  await page.waitForURL(`${muster.url}/ui/devices/${id}`);
  await settle(page);
  expect(await page.locator("body").getAttribute("data-same")).toBe("page");
  await close(page);
});

test("a table scrolls without being drawn anew, and each row is drawn alone", async () => {
  const page = await open("anna", "devices");
  const row = page.locator(".u-vrow").first();
  await row.waitFor();
  expect(await row.evaluate((element) => getComputedStyle(element).contain)).toBe("strict");
  const cdp = await page.context().newCDPSession(page);
  let tallest = 0;
  cdp.on("LayerTree.layerTreeDidChange", ({ layers = [] }) => {
    tallest = Math.max(...layers.map(({ height }) => height));
  });
  await cdp.send("DOM.enable");
  await cdp.send("LayerTree.enable");
  const body = await page.locator(".u-vbody").evaluate((element) => element.clientHeight);
  await until("the rows have a layer of their own", () => Promise.resolve(tallest >= body));
  await close(page);
});

test("a narrow screen shows how each device stands, and no page is wider than it", async () => {
  const page = await open("anna", "devices");
  await page.setViewportSize({ width: 390, height: 844 });
  const row = page.locator(".u-vrow").filter({ hasText: "fjord-edge-000" });
  for (const text of ["fjord-edge-000", "Online", "In sync"]) {
    await until(`"${text}" is on the screen`, async () => {
      const box = await row.getByText(text).boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= 390;
    });
  }
  await until("the page is no wider than it", async () => (await widthOf(page)) <= 390);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("columnheader", { name: "Version" }).waitFor();
  await close(page);
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
  await page.getByText(/^Goes out as a rollout in 3 waves: 1 device, then \d devices, then 2\d devices\.$/).waitFor();
  await page.getByRole("button", { name: "Create for 31 devices" }).click();
  await page.getByRole("button", { name: /^Save/ }).waitFor();
  await page.getByRole("navigation").getByRole("link", { name: /Rollouts/ }).click();
  await page.getByRole("main").getByRole("link", { name: "Rollout 1" }).click();
  await page.getByText("Succeeded").first().waitFor(); // by events: the page is not loaded again
  await page.getByText("1 of 1 done").waitFor();
  expect((await daemon.options()).relayReconnectIntervalM).toBe(30);
  await close(page);
});

test("a device that goes offline and comes back is shown so without a reload", async () => {
  const page = await open("anna", `devices/${daemon.id}`);
  await page.getByText("In sync").first().waitFor();
  await page.evaluate(() => (window.name = "not loaded again"));
  await daemon.stop();
  await page.getByText("Unreachable").first().waitFor();
  await daemon.launch();
  await page.getByText("Online").first().waitFor();
  expect(await page.evaluate(() => window.name)).toBe("not loaded again");
  await close(page);
});

test("what a person changed at the daemon is in its history, and is taken back there", async () => {
  const revisions = () => muster.call<{ number: number }[]>("GET", `/devices/${daemon.id}/revisions`);
  const theme = async () => (await daemon.call<{ theme: string }>("GET", "/config/gui")).theme;
  const good = Math.max(...(await revisions()).map((one) => one.number));
  const usual = await theme();
  await daemon.call("PATCH", "/config/options", { maxSendKbps: 777 });
  await daemon.call("PATCH", "/config/gui", { theme: "black" });
  await until("both changes are in the history", async () => {
    const newest = Math.max(...(await revisions()).map((one) => one.number));
    const path = `/devices/${daemon.id}/revisions/${good}/diff/${newest}`;
    return newest > good && (await muster.call<{ changes: unknown[] }>("GET", path)).changes.length >= 2;
  });
  const page = await open("anna", `devices/${daemon.id}/history`);
  const dialog = page.getByRole("dialog", { name: `Restore revision ${good}?` });
  await page.getByRole("button", { name: `Restore revision ${good}`, exact: true }).click();
  await dialog.getByRole("radio", { name: "options" }).check();
  await dialog.getByRole("button", { name: "Restore", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  expect((await daemon.options()).maxSendKbps).toBe(0);
  expect(await theme()).toBe("black"); // of another section
  await page.getByText(/^Restored ·/).first().waitFor();
  await page.getByRole("button", { name: `Restore revision ${good}`, exact: true }).click();
  await dialog.getByRole("button", { name: "Restore", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  expect(await theme()).toBe(usual);
  await close(page);
});

test("a daemon is paused, resumed and started again from its page", async () => {
  const { devices } = await muster.call<{ devices: { deviceID: string; label: string }[] }>("GET", "/inventory");
  const peer = devices.find((one) => one.label === "fjord-edge-000")?.deviceID ?? "";
  await daemon.call("POST", "/config/devices", { deviceID: peer, name: "peer" }); // to be paused
  await daemon.call("POST", "/config/folders", {
    ...{ id: "one-sided", label: "One-sided", path: `${daemon.home}/one-sided`, devices: [{ deviceID: peer }] },
  }); // to be scanned
  const paused = async () => (await daemon.call<{ paused: boolean }>("GET", `/config/devices/${peer}`)).paused;
  const page = await open("anna", `devices/${daemon.id}`);
  const panel = page.getByRole("region", { name: "The daemon", exact: true });
  const dialog = page.getByRole("dialog");
  await panel.getByRole("button", { name: "Rescan" }).click();
  await panel.getByRole("listitem").filter({ hasText: "Rescan" }).getByText("Done").waitFor();
  for (const [verb, isPaused] of [["Pause connections", true], ["Resume connections", false]] as const) {
    await panel.getByRole("button", { name: verb }).click();
    if (isPaused) await dialog.getByRole("button", { name: verb }).click();
    await panel.getByRole("listitem").filter({ hasText: verb }).getByText("Done").waitFor();
    expect(await paused()).toBe(isPaused);
  }
  await panel.getByRole("button", { name: "Restart" }).click();
  await dialog.getByText("The daemon ends its connections").waitFor();
  await dialog.getByRole("button", { name: "Restart" }).click();
  await daemon.ended(); // this one has no monitor that would start it again
  await daemon.launch();
  await panel.getByRole("listitem").filter({ hasText: "Restart" }).getByText("Done").waitFor();
  await close(page);
});

test("shares that only one side has are found for all folders at once", async () => {
  await until("the folder is known", async () =>
    (await muster.call<{ folder: string }[]>("GET", "/folders")).some((one) => one.folder === "one-sided"),
  );
  const page = await open("anna", "folders");
  await page.getByRole("button", { name: "Shares with one side only" }).click();
  const panel = page.getByRole("region", { name: "Shares that only one side has" });
  await panel.getByRole("link", { name: "One-sided" }).waitFor();
  await panel.getByRole("link", { name: "fjord-edge-000" }).waitFor();
  expect(await panel.getByRole("listitem").count()).toBe(1);
  await close(page);
  await daemon.call("DELETE", "/config/folders/one-sided");
});

test("what a tag brings and takes away shows before it is stored", async () => {
  const own = (await daemon.options()).maxSendKbps;
  const page = await open("anna", "tags/site:lima");
  const panel = page.getByRole("region", { name: "What carries it" });
  for (const [field, rate] of [["Add devices", 2000], ["Take devices off", own]] as const) {
    const before = (await daemon.options()).maxSendKbps;
    await panel.getByRole("combobox", { name: field }).fill("real-laptop");
    await page.getByRole("option", { name: "real-laptop" }).click();
    await page.keyboard.press("Escape");
    await panel.getByText(/^options\.maxSendKbps becomes \d+ instead of \d+ on real-laptop/).waitFor();
    expect((await daemon.options()).maxSendKbps).toBe(before);
    await panel.getByRole("button", { name: "Save for 1 device" }).click();
    await until(`the daemon has ${String(rate)}`, async () => (await daemon.options()).maxSendKbps === rate);
    await panel.getByText("As it is").waitFor();
  }
  await close(page);
});

test("vars of a device show what they do before they are stored", async () => {
  const tag = "has-vars";
  const text = 'def template(device):\n    return device.vars.get("download", 0)';
  const all = await muster.call<{ deviceID: string; label: string }[]>("GET", "/devices?q=real-laptop");
  const id = all[0]?.deviceID ?? "";
  const { newTemplates } = await muster.call<{ newTemplates: number[] }>("POST", "/changes", {
    templates: { new: [{ label: "Download", op: "set", key: "options.maxRecvKbps", template: text, tags: [tag] }] },
    tags: { added: [{ tag, device: id }] },
    vars: { tags: { [tag]: { download: 100 } } },
  });
  await until("the daemon has the tag's", async () => (await daemon.options()).maxRecvKbps === 100);
  const page = await open("anna", `devices/${id}/settings`);
  const panel = page.getByRole("region", { name: "Vars" });
  await panel.getByText("download = 100").waitFor();
  await panel.getByRole("textbox").fill("download = 300");
  await panel.getByText("options.maxRecvKbps becomes 300 instead of 100 on real-laptop").waitFor();
  expect((await daemon.options()).maxRecvKbps).toBe(100);
  await panel.getByRole("button", { name: "Save for 1 device" }).click();
  await until("the daemon has its own", async () => (await daemon.options()).maxRecvKbps === 300);
  await close(page);
  await muster.call("PUT", `/devices/${id}/vars`, { vars: {} });
  await muster.call("DELETE", `/templates/${String(newTemplates[0])}`);
});

test("a rollout is halted, and undone on the devices that it had reached", async () => {
  const newest = async () => (await muster.call<{ id: number }[]>("GET", "/rollouts"))[0]?.id ?? 0;
  const before = await newest();
  const { newTemplates } = await muster.call<{ newTemplates: number[] }>("POST", "/changes", {
    templates: {
      new: [{ label: "Keep longer", op: "set", key: "options.keepTemporariesH", template: "48", tags: ["demo"] }],
    },
  });
  expect(newTemplates.length).toBe(1);
  await until("the change has a rollout", async () => (await newest()) > before);
  const id = await newest();
  await until("the first wave has it", async () => {
    const { members } = await muster.call<{ members: { state: string }[] }>("GET", `/rollouts/${id}`);
    return members.some((one) => one.state === "good");
  });
  await muster.call("POST", `/rollouts/${id}/pause`);
  const page = await open("anna", `rollouts/${id}`);
  await page.getByText("Paused").first().waitFor();
  await page.getByRole("button", { name: "Halt" }).click();
  await page.getByText("Halted").first().waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone").first().waitFor();
  await until("no daemon has it any more", async () => {
    const { devices } = await muster.call<{ devices: { deviceID: string; configuration: string }[] }>("GET", "/inventory");
    return devices.every((device) => device.configuration === "inSync");
  });
  expect((await daemon.options()).keepTemporariesH).toBe(24);
  await close(page);
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
  const group = page.getByRole("region", { name: "Held until a person consents" });
  await group.getByText("5 devices", { exact: true }).waitFor();
  await group.getByRole("button", { name: "Consent" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Consent" }).click();
  await group.waitFor({ state: "detached" });
  await close(page);
});

test("the fleet's numbers have the curve of a day", async () => {
  const page = await open("anna", "devices");
  const failed = (error: Error) => blocked.push(String(error));
  page.on("pageerror", failed);
  const start = Date.parse("2026-01-01T00:00:00Z");
  const points = Array.from({ length: 60 }, (_, i) => ({
    ...{ at: new Date(start + i * 60_000).toISOString(), devices: 30, online: 20 + (i % 10), inSync: 25 },
    ...{ waiting: i % 3, needBytes: 0, problems: 0 },
  }));
  await page.route("**/overview/history*", (route) => route.fulfill({ json: { step: 60, points } }));
  await page.goto(`${muster.url}/ui/`);
  const curve = page.getByRole("img", { name: "The last day: devices online" });
  await curve.locator("canvas").waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  page.off("pageerror", failed);
  await close(page);
});

test("a viewer sees everything and is refused politely", async () => {
  const page = await open("vera", "settings");
  const stop = page.getByRole("button", { name: "Stop writing" });
  await stop.waitFor();
  expect(await stop.getAttribute("aria-disabled")).toBe("true");
  await stop.hover();
  await page.getByText("Ask a person with the role operator or higher").waitFor();
  await stop.click({ force: true });
  expect(await page.getByRole("dialog").count()).toBe(0);
  const { mode } = await muster.call<{ mode: string }>("GET", "/configurator");
  expect(mode).toBe("on");
  await close(page);
});

test("the order of templates changes by drag and by keyboard, and is stored after its plan", async () => {
  const order = async () => {
    const all = await muster.call<{ id: number; label: string; priority: number }[]>("GET", "/templates");
    return all.sort((a, b) => a.priority - b.priority || a.id - b.id).map((one) => one.label);
  };
  const before = await order();
  const [first = "", second = ""] = before;
  const page = await open("anna", "templates/order");
  const list = page.getByRole("list", { name: "Templates in the order in which they apply" });
  const rows = list.getByRole("listitem");
  await until("the first row was dragged below the second", async () => {
    await rows.filter({ hasText: first }).dragTo(rows.filter({ hasText: second }));
    await rows.nth(1).getByRole("link", { name: first }).waitFor({ timeout: 5000 }); // a slow browser may lose a drag
    return true;
  });
  expect(await order()).toEqual(before); // only shown
  const discard = page.getByRole("button", { name: "Discard" });
  await until("the stored order shows again", async () => {
    if (await discard.isVisible()) await discard.click(); // also of a drag that a slow browser ended late
    return (await rows.nth(0).getByRole("link", { name: first }).count()) === 1;
  });
  await page.getByRole("button", { name: `Move ${first} down` }).focus();
  await page.keyboard.press("Enter");
  await rows.nth(1).getByRole("link", { name: first }).waitFor();
  await page.getByRole("button", { name: /^Save/ }).and(page.locator(":not([aria-disabled])")).click();
  await until("the order is stored", async () => (await order())[1] === first);
  await close(page);
});

test("an agent that asks is let in from the page of enrolment, with a label and a tag", async () => {
  const page = await open("anna", "settings?tab=enrolment");
  const asking = page.getByRole("row").filter({ hasText: "birch-server-030" });
  await asking.getByRole("button", { name: "Accept" }).click();
  const dialog = page.getByRole("dialog", { name: /^Accept/ }); // it names the label that is typed
  await dialog.getByLabel("Label").fill("new-server");
  await dialog.getByRole("combobox", { name: "Tags" }).fill("newcomers");
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Accept" }).press("Enter"); // the list of tags may lie over it
  await page.getByText("No device asks").waitFor();
  await until("it is registered with both", async () => {
    const { devices } = await muster.call<{ devices: { label: string; tags: string[] }[] }>("GET", "/inventory");
    return devices.some((one) => one.label === "new-server" && one.tags.includes("newcomers"));
  });
  await page.getByRole("button", { name: "Make an enrol key" }).click();
  await page.getByText("This is shown once").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No enrol key").waitFor();
  await close(page);
});

test("a device that knocks at a daemon is let in from the first page", async () => {
  const stranger = await Daemon.start();
  try {
    const [address] = (await daemon.options()).listenAddresses as string[];
    await stranger.call("POST", "/config/devices", { deviceID: daemon.id, addresses: [address] });
    const page = await open("anna");
    const group = page.getByRole("region", { name: "A device asks to be let in" });
    await group.getByRole("button", { name: "Let in" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Let in" }).click();
    await until("the daemon has the device", async () =>
      (await daemon.call<{ deviceID: string }[]>("GET", "/config/devices")).some((one) => one.deviceID === stranger.id),
    );
    await group.waitFor({ state: "detached" });
    await close(page);
  } finally {
    await stranger.remove();
  }
});

test("strings of hostile daemons are text on every page, break no layout and pass the check of accessibility", async () => {
  const device = await muster.call<Record<string, unknown>>("GET", `/devices/${daemon.id}`);
  await muster.call("PUT", `/devices/${daemon.id}`, { ...device, label: hostile + "A".repeat(3900) });
  await muster.call("PUT", `/devices/${daemon.id}/tags/${encodeURIComponent(hostile.slice(0, 60))}`);
  const { id } = await muster.call<{ id: number }>("POST", "/templates", {
    ...{ label: hostile + "A".repeat(3000), priority: 1, op: "set", key: "options.natEnabled", template: "true" },
  });
  const folder = hostile + "b".repeat(900);
  const tooLong = hostile + "d".repeat(64 << 10); // for Muster's own lists; it shows in the configuration alone
  for (const [path, name] of [["<b>bold", folder], ["<i>wide", tooLong]] as const) {
    await daemon.call("POST", "/config/folders", {
      ...{ id: name, label: hostile + "c".repeat(10 << 10), path: `${daemon.home}/${path}` },
    });
  }
  await daemon.call("POST", "/config/devices", { deviceID: stranger, name: hostile + "n".repeat(10 << 10) });
  await until("the hostile folder is known", async () => {
    const folders = await muster.call<{ folder: string }[]>("GET", "/folders");
    return folders.some((one) => one.folder === folder);
  });
  const page = await open("anna");
  await page.route("**/api/v1/waiting", async (route) => {
    const answer = await route.fetch();
    const waiting = (await answer.json()) as { groups: unknown[] };
    await route.fulfill({ response: answer, json: { ...waiting, groups: [...waiting.groups, asks(daemon.id)] } });
  });
  await page.goto(`${muster.url}/ui/devices/${daemon.id}/history`);
  await page.getByText("dddddddd").first().waitFor();
  const wrong: string[] = [];
  const check = async (name: string) => {
    if (await page.evaluate(() => "owned" in window)) wrong.push(`${name}: a script ran`);
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 720 });
      wrong.push(...(await lasting(() => broken(page))).map((fault) => `${name}, ${width} wide: ${fault}`));
    }
    wrong.push(...(await serious(page)).map((fault) => `${name}: ${fault}`));
    if (!process.env.MUSTER_SOAK) return; // ui/contrast.test.ts compares the colours of both schemes
    await page.emulateMedia({ colorScheme: "dark" });
    wrong.push(...(await serious(page, "colours")).map((fault) => `${name}, dark: ${fault}`));
    await page.emulateMedia({ colorScheme: "light" });
  };
  const first = [
    "",
    `devices/${daemon.id}`,
    `devices/${daemon.id}/templates?key=options.natEnabled`,
    `templates/${id}`,
    "folder-matrix",
    `folders/${encodeURIComponent(folder)}`,
    `tags/${encodeURIComponent(hostile.slice(0, 60))}`,
  ];
  const visited = await crawl(page, `${muster.url}/ui/`, first, check);
  expect(wrong).toEqual([]);
  for (const name of ["devices", "folders", "folders/*", "rollouts/*", "tags", "tags/*", "audit", "settings", "events", "devices/*/plan"]) {
    expect(visited).toContain(name);
  }
  await page.context().close();
}, 900_000);

test("the policy of the pages blocked nothing of them", () => expect(blocked).toEqual([]));
