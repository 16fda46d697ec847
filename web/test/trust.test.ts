import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Daemon } from "./daemon";
import { Muster } from "./muster";
import { until } from "./until";

interface Trust {
  pinned: { fingerprint: string };
  presented: { fingerprint: string };
}

let muster: Muster;
let daemon: Daemon;
let browser: Browser;

beforeAll(async () => {
  [muster, daemon, browser] = await Promise.all([Muster.start(), Daemon.start(), launch()]);
  await muster.user("anna", "admin");
  await muster.call("PUT", `/devices/${daemon.id}`, {
    label: "nas",
    apiKey: daemon.apiKey,
    apiAddress: "127.0.0.1",
    apiPort: daemon.port,
  });
  await becomes("online");
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove()]);
});

const trust = () => muster.call<Trust>("GET", `/devices/${daemon.id}/trust`);

function becomes(connection: string): Promise<void> {
  return until(`the device is ${connection}`, async () => {
    const state = await muster.call<{ connection: string }>("GET", `/devices/${daemon.id}/state`);
    return state.connection === connection;
  });
}

test("a certificate that was trusted by mistake is not trusted any more after Undo", async () => {
  // The store records the pin shortly after the device is online.
  await until("the first certificate is pinned", async () => /^sha256:/.test((await trust()).pinned.fingerprint));
  const before = (await trust()).pinned.fingerprint;
  await daemon.renewCertificate();
  await becomes("pinMismatch");
  const renewed = (await trust()).presented.fingerprint;
  expect(renewed).not.toBe(before);

  const page = await newPage(browser, { viewport: { width: 1440, height: 900 } });
  await logIn(page, muster, "anna", `devices/${daemon.id}/settings`);
  await page.getByRole("region", { name: "Certificate of its API" }).getByText(renewed).waitFor();
  await page.getByRole("button", { name: "Trust the certificate that is shown" }).click();
  const dialog = page.getByRole("dialog", { name: "Trust this certificate?" });
  await dialog.getByText(renewed).waitFor();
  expect(await serious(page)).toEqual([]);
  await dialog.getByRole("button", { name: "I compared it: trust it" }).click();
  await becomes("online");
  expect((await trust()).pinned.fingerprint).toBe(renewed);

  await page.getByRole("alert").filter({ hasText: "The certificate is trusted" }).getByRole("button", { name: "Undo" }).click();
  await until("the former certificate is pinned", async () => (await trust()).pinned.fingerprint === before);
  await becomes("pinMismatch");
  await page.getByRole("button", { name: "Trust the certificate that is shown" }).waitFor();
  await page.context().close();
});
