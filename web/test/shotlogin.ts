import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch } from "./browser";
import { anyWanted, inEveryView, wanted } from "./camera";
import { Muster } from "./muster";

// The pages before the console: they are of one design.
let muster: Muster;
let browser: Browser;

beforeAll(async () => {
  if (!anyWanted("login")) return;
  [muster, browser] = await Promise.all([Muster.start(), launch()]);
  await muster.user("anna", "admin");
});

afterAll(async () => {
  if (!anyWanted("login")) return;
  await browser.close();
  await muster.stop();
});

/** linkFor makes a log-in link; without a user, one that makes an administrator. */
async function linkFor(user: string): Promise<string> {
  const body = user === "" ? {} : { user };
  const { path } = await muster.call<{ path: string }>("POST", "/login-links", body);
  return new URL(path, muster.url).href;
}

const provider = { singleSignOn: { name: "Example Login", path: "/ui/login/single-sign-on", away: false } };

async function withProvider(page: Page): Promise<void> {
  await page.route("**/api/v1/login", (route) => route.fulfill({ json: provider }));
}

test.runIf(anyWanted("login"))("shots of logging in", async () => {
  await inEveryView(browser, async (page, shot) => {
    const states: [string, () => Promise<unknown>][] = [
      ["login-console", () => page.goto(`${muster.url}/ui/`)],
      ["login-page", () => page.goto(`${muster.url}/ui/login`)],
      ["login-first", async () => page.goto(await linkFor(""))],
      ["login-link", async () => page.goto(await linkFor("anna"))],
      ["login-ended", () => page.goto(`${muster.url}/ui/login?code=no-link-has-this-code`)],
      ["login-wrong", () => wrong(page)],
      [
        "login-provider",
        async () => {
          await withProvider(page);
          await page.goto(`${muster.url}/ui/`);
          await page.getByRole("link", { name: "Log in with Example Login" }).waitFor();
        },
      ],
    ];
    for (const [name, open] of states) {
      if (!wanted(name)) continue;
      await open();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await shot(name);
    }
  });
});

async function wrong(page: Page): Promise<void> {
  await page.goto(`${muster.url}/ui/login`);
  await page.locator("input[name=userid]").fill("anna");
  await page.locator("input[name=password]").fill("a wrong password");
  await page.getByRole("button", { name: "Log in" }).click();
}
