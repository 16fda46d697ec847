import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "6"), launch()]);
  await muster.user("anna", "admin");
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

test("a person asks the daemons what is proven, and they are not asked before", async () => {
  const { devices } = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  const id = devices[0]?.deviceID ?? "";
  let folder = "";
  await until("a folder of the device has proven copies", async () => {
    for (const { folder: one } of await muster.call<{ folder: string }[]>("GET", `/devices/${id}/folders`)) {
      const { copies } = await muster.call<{ copies: number }>("GET", `/folders/${one}/copies`);
      if (copies > 0) folder = one;
    }
    return folder !== "";
  });
  const page = await newPage(browser);
  const asked: string[] = [];
  page.on("request", (request) => {
    if (/\/(copies|at-risk)$/.test(request.url())) asked.push(request.url());
  });
  await logIn(page, muster, "anna", `folders/${folder}`);
  const copies = page.getByRole("region", { name: "Proven copies" });
  await copies.getByRole("button", { name: "Ask the daemons" }).waitFor();
  expect(asked).toEqual([]);
  await copies.getByRole("button", { name: "Ask the daemons" }).click();
  await copies.getByText(/^Proven copies: \d+ of \d+$/).waitFor();
  await copies.getByText("Proven", { exact: true }).first().waitFor();
  await copies.getByRole("link").first().click();
  const risk = page.getByRole("region", { name: "If this device breaks now" });
  await risk.getByRole("button", { name: "Ask the daemons" }).waitFor();
  expect(asked).toHaveLength(1);
  await risk.getByRole("button", { name: "Ask the daemons" }).click();
  await risk.getByRole("link", { name: folder, exact: true }).waitFor();
  expect(asked).toHaveLength(2);
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT, fullPage: true });
});
