import { expect, test, vi } from "vitest";
import type { LiveEvent } from "./patch";
import { Recent } from "./recent";
import { eventText } from "./eventtext";

const event = (id: number, type: LiveEvent["type"], data: unknown) => ({
  id,
  type,
  device: "A",
  tags: [],
  time: "2026-01-01T00:00:00Z",
  data,
}) as LiveEvent;

test("an event is told in a sentence, with a way to what it is about", () => {
  expect(eventText(event(1, "device", { deleted: true, state: null })).text).toBe("is registered no more");
  const state = { connection: "online", configuration: "held", reason: "a change waits" };
  expect(eventText(event(1, "plan", { deleted: false, state })).text).toBe("online, held: a change waits");
  const summary = { folder: "a b", needBytes: 2048, needFiles: 1 };
  expect(eventText(event(1, "folder", { summary, state: "syncing", error: "" }))).toEqual({
    text: "folder a b is syncing, 2.00 KiB in 1 file to go",
    href: "/folders/a%20b",
  });
  expect(eventText(event(1, "folder", { summary: { ...summary, needBytes: 0, needFiles: 0 }, state: "", error: "" })).text).toBe(
    "folder a b is paused",
  );
  expect(eventText(event(1, "template", { id: 3, label: "", deleted: false })).href).toBe("/templates/3");
});

test("an event of a type that this console does not know is told by its type", () => {
  expect(eventText(event(1, "tomorrow" as LiveEvent["type"], null))).toEqual({ text: "tomorrow", href: "" });
});

test("the last thousand events are kept, the newest first, and a page hears of many at once", () => {
  vi.useFakeTimers();
  const recent = new Recent();
  recent.add(event(0, "config", {}));
  let heard = 0;
  const leave = recent.subscribe(() => heard++);
  expect(recent.now().map((one) => one.id)).toEqual([0]);
  for (let id = 1; id <= 2500; id++) recent.add(event(id, "config", {}));
  vi.advanceTimersByTime(600);
  expect([heard, recent.now().length, recent.now()[0]?.id, recent.now()[999]?.id]).toEqual([1, 1000, 2500, 1501]);
  leave();
  vi.useRealTimers();
});
