/** Kept is a form that a person began to fill in, with the text of what was stored then. */
export interface Kept<T> {
  base: string;
  draft: T;
  at?: number; // Unix time in ms of the last change
}

const prefix = "muster.draft/";

/** keptDrafts are the forms that a person has left without storing them. They end with the browser's tab, or a log-out. */
export const keptDrafts = {
  keep: (name: string, kept: Kept<unknown>) => {
    try {
      sessionStorage.setItem(prefix + name, JSON.stringify({ ...kept, at: kept.at ?? Date.now() }));
    } catch {
      // The browser keeps nothing: the draft lasts as long as its page.
    }
  },
  read: <T>(name: string, stored: T, text: (value: T) => string) => restoredFrom(textOf(name), stored, text),
  forget: (name: string) => sessionStorage.removeItem(prefix + name),
  forgetAll: () => {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  },
};

function textOf(name: string): string | null {
  try {
    return sessionStorage.getItem(prefix + name);
  } catch {
    return null;
  }
}

/**
 * restoredFrom is a draft that was kept; undefined without one, or where it equals what is stored. isOlder: somebody has
 * stored something else since.
 */
export function restoredFrom<T>(
  kept: string | null,
  stored: T,
  text: (value: T) => string,
): { draft: T; isOlder: boolean; at?: number } | undefined {
  if (kept === null) return undefined;
  try {
    const { base, draft, at } = JSON.parse(kept) as Kept<T>;
    const now = text(stored);
    return text(draft) === now ? undefined : { draft, isOlder: base !== now, ...(at === undefined ? {} : { at }) };
  } catch {
    return undefined; // Another version of the console wrote it.
  }
}

/**
 * onStored says what a form does when another value was stored than before. "show": the form shows the stored value.
 * "keep": the person filled in a value that does the same, and the form leaves it as it was typed. "theirs": somebody
 * else stored the value, and the form says so. "go on": nothing. The arguments are texts of the value that is stored
 * now, of the one that was stored before, and of the one that is filled in.
 */
export function onStored(now: string, before: string, draft: string): "show" | "keep" | "theirs" | "go on" {
  if (draft === now) return "keep"; // a person who types on does not see the text change under the cursor
  if (draft === before) return "show";
  return now === before ? "go on" : "theirs";
}
