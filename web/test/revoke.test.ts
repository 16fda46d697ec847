import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// A laptop was stolen: an administrator takes it off every daemon, by the console alone.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "4"), launch()]);
  await muster.user("anna", "admin");
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

type Device = { deviceID: string; label: string };
type Plan = { devices: (Device & { changes: unknown[] })[]; touched: { unread: number } };

test("a device is revoked after the dialog said what goes, and the list ends it", async () => {
  let first: Device | undefined;
  await until("the demo has registered its devices", async () => {
    const all = await muster.call<Device[]>("GET", "/devices");
    first = all[0];
    return all.length >= 4;
  });
  if (!first) throw new Error("the demo has no device");
  const { deviceID, label } = first;
  let having: string[] = [];
  await until("every daemon was read, and some have the device", async () => {
    const body = { revocations: { added: [{ device: deviceID }] } };
    const { devices, touched } = await muster.call<Plan>("POST", "/plan", body);
    having = devices.filter((one) => one.changes.length > 0).map((one) => one.label);
    return touched.unread === 0 && having.length > 0;
  });
  const page = await newPage(browser);
  await logIn(page, muster, "anna");
  await page.goto(`${muster.url}/ui/devices/${deviceID}/settings`);
  await page.getByRole("button", { name: "Revoke this device" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(new RegExp(`It goes from ${having.length} devices?`)).waitFor();
  for (const one of having) await dialog.getByText(one, { exact: true }).waitFor();
  await dialog.getByLabel("Reason").fill("stolen on Monday");
  await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("The device was revoked by anna").waitFor();
  await page.getByText(/nothing is written to it/).first().waitFor();

  await page.goto(`${muster.url}/ui/settings?tab=enrolment`);
  const row = page.getByRole("row").filter({ hasText: label });
  await row.getByText("stolen on Monday").waitFor();
  expect(await serious(page)).toEqual([]);
  await row.getByRole("button", { name: "End the revocation…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await page.getByText("No device is revoked").waitFor();
  expect(await muster.call("GET", "/revocations")).toEqual([]);
});
