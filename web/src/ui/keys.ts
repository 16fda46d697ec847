/**
 * Every key that the console listens to, with what it does. The handlers take their keys from here, and the sheet of keys
 * shows the same: a key without a handler, or a handler without a line here, is an error of types.
 */
export const keys = {
  page: {
    "mod+K": "Search: go anywhere, or do something",
    "/": "To the search of the page",
    "?": "Show these keys",
    g: "Then one more letter: go to a page",
  },
  palette: {
    ArrowDown: "To the next entry",
    ArrowUp: "To the entry before",
    Enter: "Go there, or do it",
  },
  table: {
    ArrowDown: "To the next row",
    ArrowUp: "To the row before",
    PageDown: "15 rows on",
    PageUp: "15 rows back",
    Home: "To the first row",
    End: "To the last row",
    Enter: "Open the row",
    " ": "Choose the row, or leave it",
  },
} as const;

export type KeyOf<Part extends keyof typeof keys> = keyof (typeof keys)[Part];

/** Handlers has what each key of a part of the console does; undefined where it does nothing now. */
export type Handlers<Part extends keyof typeof keys> = Record<KeyOf<Part>, (() => void) | undefined>;

interface Pressed {
  key: string;
  preventDefault: () => void;
}

/** press calls the handler of a key. Other keys stay the browser's. */
export function press<Part extends "palette" | "table">(part: Part, handlers: Handlers<Part>, event: Pressed) {
  if (!Object.hasOwn(keys[part], event.key)) return;
  const handler = handlers[event.key as KeyOf<Part>];
  if (!handler) return;
  handler();
  event.preventDefault();
}

const words: Record<string, string> = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  PageDown: "Page down",
  PageUp: "Page up",
  " ": "Space",
};

/** hotkeysOf are the combinations that bring a key: on some keyboards a sign needs Shift, on others it does not. */
export const hotkeysOf = (key: string): string[] => (/^[?/]$/.test(key) ? [key, `shift+${key}`] : [key]);

/** capsOf are the words on the keys to press, one after the other. */
export function capsOf(key: string, isMac: boolean): string[] {
  if (key.startsWith("mod+")) return [isMac ? "⌘" : "Ctrl", key.slice(4)];
  return [words[key] ?? key];
}
