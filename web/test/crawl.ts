import type { Page } from "playwright-core";
import { settle } from "./browser";

/**
 * crawl visits every page that links lead to, one of each kind, and every tab on them. It begins with the given paths.
 * It gives the names of the pages: an asterisk is in the place of what differs within a kind.
 */
export async function crawl(
  page: Page,
  root: string,
  first: string[],
  check: (name: string) => Promise<void>,
): Promise<string[]> {
  const todo = [...first];
  const visited = new Set<string>();
  for (let path = todo.shift(); path !== undefined; path = todo.shift()) {
    const name = kindOf(path);
    if (visited.has(name)) continue;
    visited.add(name);
    await page.goto(root + path);
    await settle(page);
    await check(name);
    for (const tab of await page.locator("main [role=tab][aria-selected=false]").all()) {
      const title = (await tab.textContent()) ?? "";
      await tab.click();
      await settle(page);
      const after = kindOf(page.url().slice(root.length));
      const shown = visited.has(after) ? `${name} ${title}` : after;
      if (visited.has(shown)) continue;
      visited.add(shown);
      await check(shown);
    }
    todo.push(...(await linksOf(page, root)));
  }
  return [...visited];
}

/** kindOf names the kind of a page by its path. */
function kindOf(path: string): string {
  const [segments = "", query = ""] = path.split("?");
  const tab = new URLSearchParams(query).get("tab");
  const named = segments.split("/").map((segment, i) => (i === 1 && segment !== "new" && segment !== "order" ? "*" : segment));
  return named.join("/") + (tab ? `?tab=${tab}` : "");
}

async function linksOf(page: Page, root: string): Promise<string[]> {
  const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
  return links.filter((link) => link.startsWith(root)).map((link) => link.slice(root.length).replace(/#.*$/, ""));
}
