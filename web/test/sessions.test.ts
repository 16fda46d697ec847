import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, settle } from "./browser";
import { Muster, password } from "./muster";
import { visits } from "./visits";

// What a log-in gives to a browser, and to whom else it gives nothing.
let muster: Muster;
let browser: Browser;
const { open, blocked } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start(), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("vera", "viewer")]);
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
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
  await dialog.locator("input[name=password]").fill(password);
  const sentAgain = page.waitForResponse((one) => one.url().endsWith("/api/v1/plan") && one.status() === 422);
  await dialog.getByRole("button", { name: "Log in", exact: true }).click();
  await sentAgain;
  await dialog.waitFor({ state: "hidden" });
  expect(await page.getByLabel("Label").inputValue()).toBe("Not lost");
  await page.context().close();
});

test("a log-in in another tab opens the page that waits for one", async () => {
  const page = await open("anna", "settings");
  const other = await page.context().newPage();
  await page.context().clearCookies();
  await page.evaluate(() => localStorage.removeItem("muster-session"));
  await page.reload();
  await page.locator("input[name=password]").waitFor();
  await logIn(other, muster, "anna");
  await page.locator("#main").waitFor();
  await page.context().close();
});

test("a program on another port gets the cookie and no access, and its page has no half", async () => {
  let stolen = "";
  const thief = createServer((request, answer) => {
    stolen = /muster-session=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] ?? stolen;
    answer.setHeader("Content-Type", "text/html").end("<h1>thief</h1>");
  });
  await new Promise<void>((resolve) => thief.listen(0, "127.0.0.1", resolve));
  const page = await open("anna");
  await page.goto(`http://127.0.0.1:${(thief.address() as AddressInfo).port}/`);
  expect(stolen).toMatch(/^muster_session_/); // or this test would find nothing
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
  const tries: Record<string, string>[] = [
    { Cookie: `muster-session=${stolen}` },
    { Authorization: `Bearer ${stolen}` },
    { "X-API-Key": stolen },
    { Cookie: `muster-session=${stolen}`, "Muster-Session": stolen },
  ];
  for (const headers of tries) {
    for (const path of ["/whoami", "/devices", "/events", "/openapi.json?ticket=x"]) {
      expect((await fetch(`${muster.url}/api/v1${path}`, { headers })).status).toBe(401);
    }
  }
  await page.goto(`${muster.url}/ui/`);
  await page.locator("#main").waitFor();
  await page.context().close();
  await new Promise((resolve) => thief.close(resolve));
});

test("the OpenAPI document opens with a ticket", async () => {
  const page = await open("vera", "settings?tab=server");
  await page.getByRole("button", { name: "OpenAPI document" }).click();
  await page.waitForURL(/openapi\.json\?ticket=/);
  expect(await page.locator("body").innerText()).toContain('"openapi":"3.1.0"');
  await page.context().close();
});

test("the policy of the pages blocked nothing of them", () => expect(blocked).toEqual([]));
