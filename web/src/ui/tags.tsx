import { useState, type ReactNode } from "react";
import { plural } from "./format";
import { Chip } from "./text";

const most = 12;

/** Few shows the first of many; all of them come when somebody asks. They are of what word names: tag, device. */
export function Few<T>({ all, word, children }: { all: readonly T[]; word: string; children: (one: T) => ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const shown = isOpen ? all : all.slice(0, most);
  return (
    <>
      {shown.map(children)}
      {all.length > most && (
        <button type="button" className="u-link" onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? "Show fewer" : `Show all ${plural(all.length, word)}`}
        </button>
      )}
    </>
  );
}

/** TagChips are tags, each of which leads to its page. */
export function TagChips({ tags, to = tagPage }: { tags: readonly string[]; to?: (tag: string) => string }) {
  return (
    <Few all={tags} word="tag">
      {(tag) => (
        <Chip key={tag} href={to(tag)}>
          {tag}
        </Chip>
      )}
    </Few>
  );
}

function tagPage(tag: string): string {
  return `/tags/${encodeURIComponent(tag)}`;
}
