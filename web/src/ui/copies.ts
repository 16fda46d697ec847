import { useEffect } from "react";

const shownFor = 1500; // ms

/** Copies copies what an element with data-copy holds when one clicks it, and marks the element as copied for a moment. */
export function Copies(): null {
  useEffect(() => {
    const timers = new Map<HTMLElement, ReturnType<typeof setTimeout>>();
    const unmark = (element: HTMLElement) => {
      delete element.dataset.copied;
      timers.delete(element);
    };
    const copy = async (element: HTMLElement, text: string) => {
      await navigator.clipboard.writeText(text);
      element.dataset.copied = "true";
      clearTimeout(timers.get(element));
      timers.set(element, setTimeout(unmark, shownFor, element));
    };
    const click = (event: MouseEvent) => {
      const found = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-copy]") : null;
      // Browsers have no clipboard on a page that came without TLS; one that refuses leaves the element unmarked.
      if (found?.dataset.copy && "clipboard" in navigator) void copy(found, found.dataset.copy).catch(() => undefined);
    };
    document.addEventListener("click", click);
    return () => {
      document.removeEventListener("click", click);
      for (const timer of timers.values()) clearTimeout(timer);
    };
  }, []);
  return null;
}
