import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// Somebody who never saw a template limits bandwidth and changes a setting, by the console alone.
let muster: Muster;
let browser: Browser;
let page: Page;
let device = "";

interface Template {
  op: string;
  key: string;
  label: string;
  template: string;
}

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "4"), launch()]);
  await muster.user("anna", "admin");
  await until("the demo has registered its devices, and they were read", async () => {
    const { devices } = await muster.call<{ devices: { deviceID: string; tags: string[] }[] }>("GET", "/inventory");
    device = devices.find(({ tags }) => !tags.includes("site:lima"))?.deviceID ?? ""; // That tag has limits already.
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return devices.length >= 4 && configurations.inSync === devices.length;
  });
  await muster.call("PUT", `/devices/${device}/tags/slow`);
  page = await newPage(browser);
  await logIn(page, muster, "anna");
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

const stored = () => page.getByText("As it is saved").waitFor();
const options = () => muster.call<{ options: Record<string, unknown> }>("GET", `/devices/${device}/config`);

async function pick(wish: string) {
  await page.goto(`${muster.url}/ui/templates`);
  await page.getByRole("button", { name: "New template" }).click();
  await page.getByRole("heading", { name: "What do you want?" }).waitFor();
  expect(await serious(page)).toEqual([]);
  await page.getByRole("link", { name: wish }).click();
  await page.getByRole("heading", { level: 1, name: wish }).waitFor();
}

async function tagged(tag: string) {
  await page.getByRole("combobox", { name: "Devices with one of the tags" }).fill(tag);
  await page.getByRole("combobox", { name: "Devices with one of the tags" }).press("Enter");
}

test("bandwidth is limited by a form, shown in it again, and as text once it was edited by hand", async () => {
  await pick("Limit bandwidth");
  await page.getByLabel("Send at most").fill("2");
  await page.getByText("Fill in: Devices with one of the tags.").waitFor();
  await tagged("slow");
  await page.getByText(/write a number and its unit/).first().waitFor(); // at the field
  expect(await page.getByLabel("Send at most").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Send at most").fill("2 MB/s");
  await page.getByRole("button", { name: "Save for 1 device" }).waitFor();
  await page.getByText("Nothing is removed.").waitFor();
  expect(await serious(page)).toEqual([]);
  await page.getByRole("button", { name: "Save for 1 device" }).click();
  await stored();
  await until("the daemon has it", async () => (await options()).options.maxSendKbps === 1953);

  const id = Number(/\/templates\/(\d+)$/.exec(page.url())?.[1]);
  await page.reload();
  await stored();
  expect(await page.getByLabel("Send at most").inputValue()).toBe("2 MB/s");
  await page.getByLabel("Receive at most").fill("16 Mbit/s");
  await page.getByRole("button", { name: "Save for 1 device" }).click();
  await until("the daemon has the other limit, too", async () => (await options()).options.maxRecvKbps === 1953);

  const template = await muster.call<Template>("GET", `/templates/${id}`);
  await muster.call("PUT", `/templates/${id}`, { ...template, template: template.template.replace(": 1953", ": 2000") });
  await page.reload();
  await page.getByText(/it was edited by hand since/).waitFor();
  await page.getByRole("combobox", { name: "Key" }).waitFor();
});

test("a setting is found by its name, explained, and takes only what it can", async () => {
  await pick("One setting");
  await tagged("slow");
  await page.getByRole("combobox", { name: "Setting" }).fill("options.maxFolderConc");
  await page.getByRole("option", { name: "options.maxFolderConcurrency" }).click();
  await page.getByText(/How many folders are scanned or synced at once.+Default: 0\./).waitFor();
  await page.getByLabel("Value").fill("many");
  await page.getByText(/is a whole number/).first().waitFor();
  await page.getByLabel("Value").fill("1");
  await page.getByRole("button", { name: "Save for 1 device" }).waitFor();
  await page.getByText("The template that it writes").click();
  await page.getByText("Go on with this text in the editor").waitFor();
  await page.getByRole("button", { name: "Save for 1 device" }).click();
  await stored();
  await until("the daemon has it", async () => (await options()).options.maxFolderConcurrency === 1);
  await page.getByRole("combobox", { name: "Setting" }).fill("options.startBrowser");
  await page.getByRole("combobox", { name: "Value" }).click(); // true or false, and nothing else
  await page.getByRole("option", { name: "false" }).click();
});

test("a form that is not done goes on in the editor, and a recipe takes the tag that one picks", async () => {
  await pick("Discovery and NAT");
  await tagged("slow");
  await page.getByRole("combobox", { name: "Relays" }).click();
  await page.getByRole("option", { name: "Off" }).click();
  await page.getByText("The template that it writes").waitFor();
  await page.route("**/api/v1/templates/form", (route) => route.fulfill({ contentType: "application/json", body: "no answer" }));
  await page.getByRole("combobox", { name: "Ports at routers" }).click();
  await page.getByRole("option", { name: "Off" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await page.unroute("**/api/v1/templates/form");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The template that it writes").click();
  page.once("dialog", (dialog) => void dialog.accept());
  await page.getByText("Go on with this text in the editor").click();
  await page.getByRole("heading", { name: "New template" }).waitFor();
  expect(await page.getByLabel("Label").inputValue()).toBe("Discovery and NAT: slow");
  await page.getByRole("textbox", { name: "Template text" }).getByText("relaysEnabled").waitFor();

  await pick("Discovery and NAT");
  await page.getByText(/^A draft from \d\d:\d\d:\d\d, which was not saved/).waitFor();
  expect(await page.getByRole("combobox", { name: "Relays" }).inputValue()).toBe("Off");
  await page.getByRole("button", { name: "Discard it" }).click();
  await page.getByText("Nothing to plan yet").waitFor();
  expect(await page.getByRole("combobox", { name: "Relays" }).inputValue()).toBe("");

  await page.goto(`${muster.url}/ui/templates/forms`);
  await page.getByRole("link", { name: "Something else" }).click();
  await page.getByRole("combobox", { name: "Start from" }).click();
  await page.getByRole("option", { name: "A folder that all devices with a tag share" }).click();
  await page.getByRole("combobox", { name: "For devices with the tag" }).fill("slow");
  await page.getByRole("textbox", { name: "Template text" }).getByText('devices(tag="slow")').waitFor();
  await page.getByRole("button", { name: "Create for 1 device" }).waitFor(); // by the tag of the template
});
