import { chromium, type Browser, type Page } from "playwright-core";
import { type Muster, password } from "./muster";

/** launch starts Debian's Chromium. Nothing of it leaves the machine. */
export function launch(): Promise<Browser> {
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

/** logIn fills in the form of the console. */
export async function logIn(page: Page, muster: Muster, name: string, path = ""): Promise<void> {
  await page.goto(`${muster.url}/ui/${path}`);
  await page.locator("input[name=userid]").fill(name);
  await page.locator("input[name=password]").fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.locator("#main").waitFor();
}
