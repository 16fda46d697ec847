import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, logIn, newPage } from "./browser";
import { Muster } from "./muster";

// Every page that reads (the page of events follows the stream alone) with a server that does not answer yet, and one that answers with an error.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "3"), launch()]);
  await muster.user("anna", "admin");
});

afterAll(async () => {
  await browser.close();
  await muster.stop();
});

const reason = "the database is away for this test";
const always = /\/api\/v1\/(me|whoami|session|events|login)/; // who asks is known before any page shows

test("every page shows that it waits for the server, and why it shows nothing", async () => {
  const { devices } = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  const device = `devices/${devices[0]?.deviceID ?? ""}`;
  const [template] = await muster.call<{ id: number }[]>("GET", "/templates");
  const pages = [
    ...["", "devices", "templates", "templates/order", `templates/${template?.id ?? 0}`, "folder-matrix", "folders"],
    ...["folders/handbook", "folders/handbook/file?path=a.ods", "events/kept", "rollouts", "tags", "tags/demo", "audit"],
    ...["", "/plan", "/templates", "/history", "/log", "/settings"].map((tab) => device + tab),
    ...["", "?tab=general", "?tab=people", "?tab=tokens", "?tab=enrolment", "?tab=secrets", "?tab=notifications", "?tab=server"].map((tab) => `settings${tab}`),
  ];
  const page = await newPage(browser);
  await logIn(page, muster, "anna");
  const wrong: string[] = [];
  for (const path of pages) {
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/api/v1/**", async (route) => {
      if (always.test(route.request().url())) return route.continue();
      await held;
      const problem = { title: "Bad Request", status: 400, detail: reason };
      await route.fulfill({ status: 400, contentType: "application/problem+json", json: problem }).catch(() => {});
    });
    await page.goto(`${muster.url}/ui/${path}`);
    const shows = (what: string, locator = page.getByText(what)) =>
      locator.first().waitFor({ timeout: 20_000 }).catch(() => wrong.push(`${path || "first"}: no ${what}`));
    await shows("loading state", page.locator("[aria-label=Loading]"));
    answer();
    await shows("error", page.getByRole("alert").getByText(/the database is away/i));
    if ((await page.locator("[aria-label=Loading]").count()) > 0) wrong.push(`${path || "first"}: loads for ever`);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.goto(`${muster.url}/ui/${path}`);
    await shows("age of the data", page.getByText(/^As of /));
  }
  expect(wrong).toEqual([]);
});
