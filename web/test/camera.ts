import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { newPage } from "./browser";

const folder = new URL("../shots/", import.meta.url).pathname;

/**
 * wanted tells whether SHOTS, a list of names, asks for a picture; without it all are wanted. A name with an asterisk at
 * its end asks for all that begin so: SHOTS=300-*,login.
 */
export function wanted(name: string): boolean {
  const only = process.env.SHOTS?.split(",");
  return only === undefined || only.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
}

/** anyWanted tells whether SHOTS asks for a picture whose name begins so: only then its server has to start. */
export function anyWanted(beginning: string): boolean {
  return process.env.SHOTS?.split(",").some((one) => one.startsWith(beginning)) ?? true;
}

/** inEveryView draws in a browser of its own for each of light and dark, wide and narrow. */
export async function inEveryView(
  browser: Browser,
  draw: (page: Page, shot: (name: string) => Promise<unknown>) => Promise<void>,
) {
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 390]) {
      const page = await newPage(browser, { colorScheme, viewport: { width, height: 900 } });
      await draw(page, async (name) => {
        await page.waitForTimeout(400); // tooltips and fades come to rest; a picture needs no more
        return page.screenshot({ path: `${folder}${name}-${colorScheme}-${width}.png` });
      });
      await page.context().close();
    }
  }
}
