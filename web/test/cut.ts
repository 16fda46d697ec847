import type { Page } from "playwright-core";

/**
 * cut tells where a page is wider than its window, where an element goes beyond the window and cannot be scrolled to, and
 * where a text is cut and nothing tells all of it: no title, hint or name.
 */
export function cut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const scroll = document.documentElement.scrollWidth;
    if (scroll > window.innerWidth) found.push(`the page is ${scroll} wide`);
    const hides = (style: CSSStyleDeclaration) => ["hidden", "clip"].includes(style.overflowX);
    const scrolls = (style: CSSStyleDeclaration) => ["auto", "scroll"].includes(style.overflowX);
    const tells = (element: Element) => element.closest("[title], [data-hint], [aria-label]:not(main, section, nav, [role=grid], [role=group])");
    const isHidden = (element: Element) => element.closest(".u-skip, [hidden], .cm-editor, input, textarea, select, svg, thead");
    for (const element of document.querySelectorAll<HTMLElement>("main *")) {
      if (element.textContent.trim() === "" || isHidden(element)) continue;
      const box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) continue;
      let scrolled = false;
      for (let up: Element | null = element; up && up !== document.body; up = up.parentElement) {
        const style = getComputedStyle(up);
        if (scrolls(style) || hides(style)) scrolled = true;
      }
      const line = `${element.tagName.toLowerCase()}.${element.className} “${element.textContent.trim().slice(0, 40)}”`;
      if (!scrolled && box.right > window.innerWidth + 1) found.push(`${line} ends at ${Math.round(box.right)}`);
      const style = getComputedStyle(element);
      const isCut = hides(style) && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
      const hasTitles = [...element.querySelectorAll("*")].some((inner) => tells(inner) && inner.getBoundingClientRect().right > box.right);
      if (isCut && !tells(element) && !hasTitles) found.push(`${line} is cut`);
    }
    return [...new Set(found)].slice(0, 12);
  });
}
