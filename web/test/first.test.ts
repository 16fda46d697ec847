import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, newPage, serious, tabTo } from "./browser";
import { Daemon } from "./daemon";
import { Muster, password } from "./muster";
import { until } from "./until";

// An empty server, a real daemon, and a person who begins. The tests are one session, in their order.
let muster: Muster;
let daemon: Daemon;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [muster, daemon, browser] = await Promise.all([Muster.start(), Daemon.start(), launch()]);
  await muster.user("anna", "admin");
  page = await newPage(browser);
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove()]);
});

test("a person logs in by keyboard, and the first page says how to begin", async () => {
  await page.goto(`${muster.url}/ui/`);
  await page.locator("input[name=userid]:focus").waitFor();
  await page.keyboard.type("anna");
  await tabTo(page, "Password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Welcome to Muster" }).waitFor();
  expect(await serious(page)).toEqual([]);
});

test("a demo is started with one click, opened, and thrown away", async () => {
  const [demo] = await Promise.all([page.waitForEvent("popup"), page.getByRole("button", { name: "Start a demo" }).click()]);
  await demo.getByRole("heading", { name: "Welcome", exact: true }).waitFor();
  expect(new URL(demo.url()).hostname).toBe("localhost"); // its cookies are not those of the server
  await demo.locator("input[name=userid]").fill("guest");
  for (const field of await demo.locator("input[type=password]").all()) await field.fill(password);
  await demo.getByRole("button").first().click();
  await demo.getByRole("link", { name: "Devices" }).click();
  await demo.getByText("30 devices").waitFor();
  await demo.close();
  expect(await serious(page)).toEqual([]);
  await page.getByRole("button", { name: "Throw it away" }).click();
  const dialog = page.getByRole("dialog", { name: "Throw the demo away?" });
  await dialog.getByRole("button", { name: "Throw it away" }).click();
  await page.getByRole("button", { name: "Start a demo" }).waitFor();
  await fetch(demo.url()).then(
    () => expect.fail("the demo answers still"),
    () => undefined,
  );
  await muster.call("GET", "/whoami"); // and the server serves on
});

test("the first device is added and tagged without the mouse", async () => {
  await tabTo(page, "Add a device");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Add devices" });
  await dialog.waitFor();
  await dialog.getByLabel("Device ID").waitFor();
  expect(await serious(page)).toEqual([]);
  for (const [field, text] of [
    ["Device ID", daemon.id],
    ["Label", "my laptop"],
    ["Address of its GUI", `http://127.0.0.1:${daemon.port}/`], // as the bar of the browser has it
    ["API key", daemon.apiKey],
    ["Tags", "laptops"],
  ] as const) {
    await tabTo(page, field);
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
  }
  await page.keyboard.press("Enter"); // of the tag
  await tabTo(page, "Add");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "hidden" });
  await until("the device is registered, tagged and online", async () => {
    const { devices } = await muster.call<{ devices: { tags: string[]; connection: string }[] }>("GET", "/inventory");
    return devices[0]?.tags[0] === "laptops" && devices[0].connection === "online";
  });
});

test("the first page leads on to the first template, which reaches the daemon", async () => {
  await page.getByText("1 device is managed").waitFor();
  await tabTo(page, "Write the first template");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "What do you want?" }).waitFor();
  await tabTo(page, /^Something else/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New template" }).waitFor();
  await tabTo(page, "Label");
  await page.keyboard.type("Slow line");
  await tabTo(page, "Key");
  await page.keyboard.type("options.maxSendKbps");
  await page.keyboard.press("Escape");
  const editor = page.getByRole("textbox", { name: "Template text" });
  await editor.waitFor();
  await tabTo(page, "Template text");
  await page.keyboard.type("2000");
  await page.keyboard.press("Escape");
  await tabTo(page, "Tags");
  await page.keyboard.type("laptops");
  await page.keyboard.press("Enter");
  await page.getByText("options.maxSendKbps").first().waitFor(); // in the plan, before it is saved
  await page.getByRole("button", { name: "Create for 1 device" }).waitFor();
  await page.locator("#main").focus();
  await tabTo(page, "Create for 1 device");
  await page.keyboard.press("Enter");
  await until("the daemon has it", async () => (await daemon.options()).maxSendKbps === 2000);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).fill("my laptop");
  await page.getByRole("option", { name: /^my laptop/ }).waitFor(); // the devices may not be read yet
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "my laptop" }).waitFor();
  await page.getByText("In sync").first().waitFor();
});

test("while the server is away the page says so, keeps what it shows, and connects again", async () => {
  await page.evaluate(() => (window.name = "not loaded again"));
  // What a page asks meanwhile may say so too, beside the banner.
  const banner = page.getByRole("status").filter({ hasText: "The server does not answer" });
  await muster.halt();
  await banner.waitFor();
  await page.getByRole("heading", { level: 1, name: "my laptop" }).waitFor();
  await muster.again();
  await banner.waitFor({ state: "hidden" });
  await until("no part of the page says it", async () => (await page.getByText("server does not answer").count()) === 0);
  await muster.call("PUT", `/devices/${daemon.id}/tags/back-again`);
  await page.getByText("back-again").first().waitFor(); // by an event of the new process
  expect(await page.evaluate(() => window.name)).toBe("not loaded again");
});
