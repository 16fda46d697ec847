import type { Browser, BrowserContext, Page, ViewportSize } from "playwright-core";
import { logIn, newContext } from "./browser";
import type { Muster } from "./muster";

interface Person {
  session: Awaited<ReturnType<BrowserContext["storageState"]>>;
  free?: Page | undefined; // a page that no test uses
}

/**
 * visits opens pages as a person, each person in a browser of its own, and keeps what the policy of the pages blocked. A
 * person logs in once: the server slows down who does so ten times in a row. A page that a test closes is used again by
 * the next visit: a new one has to read and compile the console anew, which takes several times as long as a visit.
 * A test that listens to a page, or answers its requests, closes the context instead.
 */
export function visits(where: () => { browser: Browser; muster: Muster }, viewport: ViewportSize = { width: 1280, height: 720 }) {
  const people = new Map<string, Person>();
  const ofPage = new WeakMap<Page, Person>();
  const blocked: string[] = [];

  async function open(name: string, path = ""): Promise<Page> {
    const { browser, muster } = where();
    const person = people.get(name);
    let page = person?.free;
    if (person && page && !page.isClosed()) {
      person.free = undefined;
      await page.goto(`${muster.url}/healthz`); // The page before keeps no drafts any more.
      await page.evaluate(() => sessionStorage.clear());
    } else {
      const context = await newContext(browser, { viewport, ...(person ? { storageState: person.session } : {}) });
      page = await context.newPage();
      page.on("console", (message) => {
        if (/Content Security Policy/.test(message.text())) blocked.push(message.text());
      });
    }
    if (person) {
      ofPage.set(page, person);
      await page.goto(`${muster.url}/ui/${path}`);
      await page.locator("#main").waitFor();
      return page;
    }
    await logIn(page, muster, name, path);
    const added = { session: await page.context().storageState() };
    people.set(name, added);
    ofPage.set(page, added);
    return page;
  }

  /** close ends a visit. The page is kept for the next visit of the same person. */
  async function close(page: Page): Promise<void> {
    await page.setViewportSize(viewport);
    const person = ofPage.get(page);
    if (person) person.free = page;
  }

  return { open, close, blocked };
}
