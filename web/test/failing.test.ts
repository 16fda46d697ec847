import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage, serious } from "./browser";
import { Muster } from "./muster";
import { until } from "./until";

// What is certain to fail on the daemons is refused, and saved once a person says so. The console had no way to save it.
let muster: Muster;
let browser: Browser;
let page: Page;
let id = 0;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "4"), launch()]);
  await muster.user("anna", "admin");
  let device = "";
  await until("the demo has registered its devices, and they were read", async () => {
    const { devices } = await muster.call<{ devices: { deviceID: string; tags: string[] }[] }>("GET", "/inventory");
    device = devices.find(({ tags }) => !tags.includes("site:lima"))?.deviceID ?? ""; // That tag has limits already.
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return devices.length >= 4 && configurations.inSync === devices.length;
  });
  await muster.call("PUT", `/devices/${device}/tags/slow`);
  const limit = { label: "A limit", op: "set", key: "options.maxSendKbps", template: "400\n" };
  id = (await muster.call<{ id: number }>("POST", "/templates", limit)).id;
  await muster.call("PUT", `/templates/${id}/tags/slow`);
  page = await newPage(browser, { viewport: { width: 1440, height: 900 } });
  await logIn(page, muster, "anna", `templates/${id}`);
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

const allowed = () => page.getByRole("checkbox", { name: "Save it although it will fail on the daemons" });
const text = async () => (await muster.call<{ template: string }>("GET", `/templates/${id}`)).template.trim();

async function type(value: string) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(value);
}

test("a value of a wrong type is saved once a person says so, and not by the answer to another text", async () => {
  await type('"500"');
  await page.getByText(/takes a number/).waitFor();
  await allowed().waitFor();
  expect(await page.getByRole("button", { name: /^Save/ }).isDisabled()).toBe(true);
  expect(await page.getByText(/allow-failing|allowFailing/).count()).toBe(0); // It is no command line.
  expect(await serious(page)).toEqual([]);
  await allowed().check();
  await page.getByText(/No plan can be made for/).waitFor();
  await page.getByText(/takes a number/).first().waitFor(); // The reason stays.
  expect(await allowed().isChecked()).toBe(true);
  expect(await page.getByRole("button", { name: /^Save/ }).isEnabled()).toBe(true);

  await type('"600"');
  await until("nothing is ticked for the other text", async () => (await allowed().isVisible()) && !(await allowed().isChecked()));
  expect(await page.getByRole("button", { name: /^Save/ }).isDisabled()).toBe(true);
  expect(await text()).toBe("400");
  await allowed().check();
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("As it is saved").waitFor();
  expect(await text()).toBe('"600"');
});

test("the order of a template that fails is saved likewise, and a text that is right asks nothing", async () => {
  await page.goto(`${muster.url}/ui/templates/order`);
  await page.getByLabel("Priority of A limit").fill("70");
  await allowed().waitFor();
  expect(await page.getByRole("button", { name: /^Save/ }).isDisabled()).toBe(true);
  await allowed().check();
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("As it is saved").waitFor();
  expect(await muster.call("GET", `/templates/${id}`)).toMatchObject({ priority: 70 });

  await page.goto(`${muster.url}/ui/templates/${id}`);
  await type("700");
  await page.getByRole("button", { name: "Save for 1 device" }).click();
  await page.getByText("As it is saved").waitFor();
  expect(await allowed().count()).toBe(0);
  expect(await text()).toBe("700");
});
