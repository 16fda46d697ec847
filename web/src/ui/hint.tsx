import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { exactly } from "./format";

const tooltipID = "u-hint";
const openDelay = 250; // ms
const gap = 6; // px to the element, and to the edge of the window

/** textOf is what an element has to say: data-hint is a text, and data-at a moment whose text is made when it shows. */
function textOf(element: HTMLElement): string {
  const { copied, hint, at } = element.dataset;
  if (copied) return "Copied";
  return hint ?? (at ? exactly(new Date(at)) : "");
}

/**
 * Hints is the one tooltip of the whole page. An element with data-hint or data-at shows it on hover, focus and touch:
 * cells of long tables cost nothing for it until then.
 */
export function Hints() {
  const [owner, setOwner] = useState<HTMLElement>();
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hide = () => {
      clearTimeout(timer);
      setOwner(undefined);
    };
    const show = (event: Event) => {
      const found = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-hint],[data-at]") : null;
      clearTimeout(timer);
      if (!found) return setOwner(undefined);
      timer = setTimeout(() => setOwner(found), event.type === "focusin" ? 0 : openDelay);
    };
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape") hide();
    };
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("focusout", hide);
    document.addEventListener("keydown", press);
    document.addEventListener("scroll", hide, { capture: true, passive: true });
    document.documentElement.addEventListener("pointerleave", hide);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", show);
      document.removeEventListener("focusin", show);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("keydown", press);
      document.removeEventListener("scroll", hide, { capture: true });
      document.documentElement.removeEventListener("pointerleave", hide);
    };
  }, []);

  useLayoutEffect(() => {
    if (!owner || !box.current) return;
    const at = owner.getBoundingClientRect();
    const { width, height } = box.current.getBoundingClientRect();
    const left = Math.max(gap, Math.min(window.innerWidth - width - gap, at.left + (at.width - width) / 2));
    const above = at.top - height - gap;
    box.current.style.left = `${left}px`;
    box.current.style.top = `${above >= gap ? above : at.bottom + gap}px`;
    const { current } = box;
    const follow = new MutationObserver(() => (current.textContent = textOf(owner)));
    follow.observe(owner, { attributes: true, attributeFilter: ["data-hint", "data-at", "data-copied"] });
    owner.setAttribute("aria-describedby", tooltipID);
    return () => {
      follow.disconnect();
      owner.removeAttribute("aria-describedby");
    };
  }, [owner]);

  if (!owner?.isConnected) return null;
  return (
    <div ref={box} id={tooltipID} role="tooltip" className="u-hint">
      {textOf(owner)}
    </div>
  );
}
