import type { Browser, BrowserContext, Page } from "playwright-core";
import { logIn, newContext } from "./browser";
import type { Muster } from "./muster";

/**
 * visits opens pages as a person, each in a browser of its own, and keeps what the policy of the pages blocked. A person
 * logs in once: the server slows down who does so ten times in a row.
 */
export function visits(where: () => { browser: Browser; muster: Muster }) {
  const sessions = new Map<string, Awaited<ReturnType<BrowserContext["storageState"]>>>();
  const blocked: string[] = [];
  async function open(name: string, path = ""): Promise<Page> {
    const { browser, muster } = where();
    const kept = sessions.get(name);
    const context = await newContext(browser, kept ? { storageState: kept } : {});
    const page = await context.newPage();
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) blocked.push(message.text());
    });
    if (kept) {
      await page.goto(`${muster.url}/ui/${path}`);
      await page.locator("#main").waitFor();
      return page;
    }
    await logIn(page, muster, name, path);
    sessions.set(name, await context.storageState());
    return page;
  }
  return { open, blocked };
}
