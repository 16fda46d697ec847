import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// Somebody who never saw a template shares a folder, by the console alone.
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

interface Device {
  deviceID: string;
}

test("a folder is shared by a form, shown in it again, and as text once it was edited by hand", async () => {
  let devices: Device[] = [];
  await until("the demo has registered its devices, and they were read", async () => {
    devices = await muster.call<Device[]>("GET", "/devices");
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return devices.length >= 4 && configurations.inSync === devices.length;
  });
  const [first, second] = devices;
  if (!first || !second) throw new Error("the demo has no devices");
  await muster.call("PUT", `/devices/${first.deviceID}/tags/minutes`);

  const page = await newPage(browser);
  await logIn(page, muster, "anna");
  await page.goto(`${muster.url}/ui/templates`);
  await page.getByRole("link", { name: "Share a folder" }).first().click();
  await page.getByLabel("Name").fill("Minutes");
  await page.getByText("Say where the folder is.").waitFor();
  await page.getByLabel("Where").fill("~/minutes");
  await page.getByRole("combobox", { name: "Send and receive" }).fill("minutes");
  await page.getByRole("combobox", { name: "Send and receive" }).press("Enter");
  await page.getByText(/the folder is shared with nobody/).waitFor();
  const says = page.getByRole("list", { name: "What would change" });
  await says.getByText(/^Minutes \(~\/minutes\) is added on .+, shared with nobody$/).waitFor();
  await muster.call("PUT", `/devices/${second.deviceID}/tags/minutes`);
  await page.getByLabel("On Windows").fill("D:\\Minutes");
  const store = page.getByRole("button", { name: "Save for 2 devices" });
  await store.waitFor();
  expect(await page.getByText(/the folder is shared with nobody/).count()).toBe(0);
  await says.getByText("Minutes (~/minutes) is added on 2 devices, shared among all of them").waitFor();
  await page.getByText("Nothing is removed.").waitFor();
  const key = page.getByText("folders.minutes", { exact: true }).first();
  expect(await key.isVisible()).toBe(false);
  await page.getByText("Keys and values").click();
  await key.waitFor();
  expect(await serious(page)).toEqual([]);
  await store.click();

  await page.getByText("As it is saved").waitFor();
  expect(await page.getByLabel("Where").inputValue()).toBe("~/minutes");
  const id = Number(/\/templates\/(\d+)$/.exec(page.url())?.[1]);
  await page.getByLabel("Ignore patterns").fill("*.tmp\n(?d).DS_Store");
  await page.getByRole("button", { name: /Save for \d devices?/ }).click();
  await page.getByText("As it is saved").waitFor();
  await page.reload();
  await page.getByText("As it is saved").waitFor();
  expect(await page.getByLabel("Ignore patterns").inputValue()).toBe("*.tmp\n(?d).DS_Store");
  expect(await page.getByLabel("On Windows").inputValue()).toBe("D:\\Minutes");

  interface Template {
    op: string;
    key: string;
    label: string;
    template: string;
  }
  const stored = await muster.call<Template>("GET", `/templates/${id}`);
  const edited = stored.template.replace("sorted(members)", "sorted(members)[:2]");
  await muster.call("PUT", `/templates/${id}`, { ...stored, template: edited });
  await page.reload();
  await page.getByText(/it was edited by hand since/).waitFor();
  await page.getByRole("combobox", { name: "Key" }).waitFor();
});
