import axe from "axe-core";
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from "playwright-core";
import { type Muster, password } from "./muster";
import { patience } from "./until";

let started: Promise<Browser> | undefined;

/** launch gives Debian's Chromium: files of tests that run in one process share it. Nothing of it leaves the machine. */
export async function launch(): Promise<Browser> {
  const running = await started?.catch(() => undefined);
  if (running?.isConnected()) return running;
  started = start();
  return started;
}

/** leave closes what a file of tests opened in the browser. The next file goes on with the browser. */
export async function leave(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

function start(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-dev-shm-usage",
    ],
  });
}

/** newContext is a browser of its own, whose waits are long enough for a busy machine. Nothing in it moves. */
export async function newContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(patience);
  return context;
}

/** newPage is a page in a browser of its own. */
export async function newPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  return (await newContext(browser, options)).newPage();
}

/** logIn fills in the form of the console; root is another address than the server's own. */
export async function logIn(page: Page, muster: Muster, name: string, path = "", root = muster.url): Promise<void> {
  await page.goto(`${root}/ui/${path}`);
  await page.locator("input[name=userid]").fill(name);
  await page.locator("input[name=password]").fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.locator("#main").waitFor();
}

/** settle waits until a page shows what it has, and reads nothing any more. */
export async function settle(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
}

/** widthOf is how wide a page is, in pixels. Parts that measure the window follow a new size a little later. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}

/** serious are the faults of accessibility that people stumble over; of colours alone where only those can differ. */
export function serious(page: Page, only: "all" | "colours" = "all"): Promise<string[]> {
  return lasting(() => faults(page, only));
}

/**
 * lasting are the faults that stay. Some go within a moment: what is being faded in has less contrast, and parts that
 * measure the window follow its new size a little later.
 */
export async function lasting(find: () => Promise<string[]>): Promise<string[]> {
  let found = await find();
  for (let again = 0; found.length > 0 && again < 10; again++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    found = await find();
  }
  return found;
}

async function faults(page: Page, only: "all" | "colours"): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(
    (rules) => window.axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) }),
    only === "colours" ? ["color-contrast"] : undefined,
  );
  return found.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** tabTo presses Tab until the element with the focus has this accessible name. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const wanted = page.getByRole("button", { name }).or(page.getByRole("link", { name })).or(page.getByLabel(name));
  await wanted.first().waitFor({ state: "attached" });
  for (let pressed = 0; pressed < 120; pressed++) {
    if (await wanted.evaluateAll((all) => all.includes(document.activeElement as HTMLElement))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never came to ${String(name)}`);
}

declare global {
  interface Window {
    axe: typeof axe;
  }
}
