import { expect, test, vi } from "vitest";
import { capsOf, hotkeysOf, keys, press, type Handlers } from "./keys";

function handlersOf<Part extends "palette" | "table">(part: Part) {
  return Object.fromEntries(Object.keys(keys[part]).map((key) => [key, vi.fn()])) as unknown as Handlers<Part>;
}

test("each key of the table of keys calls its own handler, and only that", () => {
  for (const part of ["palette", "table"] as const) {
    for (const key of Object.keys(keys[part])) {
      const handlers: Record<string, (() => void) | undefined> = handlersOf(part);
      const event = { key, preventDefault: vi.fn() };
      press(part, handlers as never, event);
      for (const [of, handler] of Object.entries(handlers)) expect(handler, `${part} ${key}`).toHaveBeenCalledTimes(of === key ? 1 : 0);
      expect(event.preventDefault).toHaveBeenCalledTimes(1);
    }
  }
});

test("a key that does nothing now, or that the table does not have, stays the browser's", () => {
  const handlers = { ...handlersOf("table"), Enter: undefined };
  for (const key of ["Enter", "x", "toString"]) {
    const event = { key, preventDefault: vi.fn() };
    press("table", handlers, event);
    expect(event.preventDefault, key).not.toHaveBeenCalled();
  }
});

test("a sign is the same key with and without Shift", () => {
  expect(hotkeysOf("?")).toEqual(["?", "shift+?"]);
  expect(hotkeysOf("g")).toEqual(["g"]);
  expect(hotkeysOf("mod+K")).toEqual(["mod+K"]);
});

test("keys are written as they stand on the keyboard", () => {
  expect(capsOf("mod+K", false)).toEqual(["Ctrl", "K"]);
  expect(capsOf("mod+K", true)).toEqual(["⌘", "K"]);
  expect(capsOf("?", false)).toEqual(["?"]);
  expect(capsOf("g", false)).toEqual(["g"]);
});
