import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, serious, settle, widthOf } from "./browser";
import { Daemon, freePort } from "./daemon";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

let muster: Muster;
let daemon: Daemon;
let other: Daemon;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  [muster, daemon, other, browser] = await Promise.all([Muster.start(), Daemon.start(), Daemon.start(), launch()]);
  await Promise.all([muster.user("anna", "admin"), muster.user("arthur", "author")]);
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove(), other.remove()]);
});

const record = () => muster.call<{ label: string; apiPort: number; apiKey: string }>("GET", `/devices/${daemon.id}`);
const entries = (what: string) => muster.call<{ detail: string }[]>("GET", `/audit?what=${what}`);

test("what is wrong with a new device shows beside the field, and nothing is saved", async () => {
  const page = await open("anna", "devices");
  await page.getByRole("button", { name: "Add devices" }).click();
  const dialog = page.getByRole("dialog", { name: "Add devices" });
  await dialog.getByRole("tab", { name: "One, by address" }).click();
  const field = (label: string) => dialog.getByLabel(label, { exact: true });
  const add = () => dialog.getByRole("button", { name: "Add", exact: true }).click();
  await field("Device ID").fill("nonsense");
  await field("Address of its GUI").fill("127.0.0.1");
  await field("API key").fill("wrong");
  await add();
  await until("the field of the ID says what is wrong", async () => (await field("Device ID").getAttribute("aria-invalid")) === "true");

  await field("Device ID").fill(daemon.id);
  await field("Port").fill(String(daemon.port));
  await add();
  await dialog.getByText("The daemon does not accept the API key.", { exact: true }).waitFor();

  await field("API key").fill(other.apiKey);
  await field("Port").fill(String(other.port));
  await add();
  await dialog.getByText(/^Another device answers there: [^ ]+\.$/).waitFor();
  await dialog.getByText("which is not registered").waitFor();

  await field("Port").fill(String(await freePort()));
  await add();
  await dialog.getByText("Nothing listens at this address and port.", { exact: true }).waitFor();
  expect(await muster.call<unknown[]>("GET", "/devices")).toEqual([]);

  await field("API key").fill("of a daemon that is off");
  await add();
  await dialog.getByRole("button", { name: "Add anyway" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect((await record()).apiKey).toBe("of a daemon that is off");
  expect((await entries("device.test")).length).toBeGreaterThanOrEqual(3);

  await page.getByRole("button", { name: "Add devices" }).click();
  await dialog.getByRole("tab", { name: "One, by address" }).click();
  await field("Device ID").fill(daemon.id);
  await field("Address of its GUI").fill("127.0.0.1");
  await field("Port").fill(String(daemon.port));
  await field("API key").fill(daemon.apiKey);
  await add();
  await dialog.getByText("This device is registered already").waitFor();
  await close(page);
});

test("a wrong key and port are replaced on the page of the device, which never shows a key", async () => {
  const readings = (await entries("device.readKey")).length;
  const page = await open("anna", `devices/${daemon.id}/settings`);
  const panel = page.getByRole("region", { name: "Name and access" });
  const field = (label: string) => panel.getByLabel(label, { exact: true });
  await field("Label").fill("laptop");
  await field("Port").fill(String(daemon.port));
  await field("What for").fill("The port of Über-laptop was wrong");
  await panel.getByRole("button", { name: "Test and save" }).click();
  await panel.getByText("The daemon does not accept the API key.", { exact: true }).waitFor();
  await field("Replace the API key").fill(daemon.apiKey);
  await panel.getByRole("button", { name: "Test and save" }).click();
  await page.getByRole("heading", { level: 1, name: "laptop" }).waitFor();
  await until("the form is as it is stored", async () => (await field("Replace the API key").inputValue()) === "");
  await page.getByText("Online").first().waitFor();
  expect((await entries("device.readKey")).length).toBe(readings);
  const stored = await record();
  expect([stored.label, stored.apiPort, stored.apiKey]).toEqual(["laptop", daemon.port, daemon.apiKey]);
  expect((await entries("fleet.change")).map(({ detail }) => detail).join()).toContain("The port of Über-laptop was wrong");
  expect(await page.content()).not.toContain(daemon.apiKey);
  await close(page);
});

test("another person's change of the device is not written over", async () => {
  const page = await open("anna", `devices/${daemon.id}/settings`);
  const panel = page.getByRole("region", { name: "Name and access" });
  await panel.getByLabel("Label", { exact: true }).fill("mine");
  await muster.call("PUT", `/devices/${daemon.id}`, { label: "theirs", apiAddress: "127.0.0.1", apiPort: daemon.port });
  await panel.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText(/Somebody else changed this device meanwhile/).waitFor();
  expect(await panel.getByLabel("Label", { exact: true }).inputValue()).toBe("mine");
  await panel.getByRole("button", { name: "Show theirs, and discard yours" }).click();
  await until("the form shows what is stored", async () => (await panel.getByLabel("Label", { exact: true }).inputValue()) === "theirs");
  expect((await record()).label).toBe("theirs");
  await close(page);
});

test("an author sees how a device is reached and cannot change it, with the reason, on a narrow screen too", async () => {
  const page = await open("arthur", `devices/${daemon.id}/settings`);
  const panel = page.getByRole("region", { name: "Name and access" });
  await panel.getByText("Ask an administrator").waitFor();
  for (const label of ["Label", "Address of its GUI", "Port", "Replace the API key"]) {
    expect(await panel.getByLabel(label, { exact: true }).isDisabled(), label).toBe(true);
  }
  await settle(page);
  expect(await serious(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await until("the page is no wider than the screen", async () => (await widthOf(page)) <= 390);
  await close(page);
});
