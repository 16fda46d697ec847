import { expect, test } from "vitest";
import { ago, count, ended, learnNames, percent, plural, sentence, shortID, size, span, roomAfter } from "./format";

test.each([
  [0, "0 B"],
  [812, "812 B"],
  [1000, "0.98 KiB"],
  [1536, "1.50 KiB"],
  [23.4 * 1024 ** 2, "23.4 MiB"],
  [812 * 1024 ** 3, "812 GiB"],
  [-5, "0 B"],
])("%d bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [3_599_000, "59 min"],
  [7_200_000, "2 h"],
  [3 * 86_400_000, "3 d"],
  [70 * 86_400_000, "2 mo"],
  [800 * 86_400_000, "2 y"],
])("%d ms are %s", (ms, text) => expect(span(ms)).toBe(text));

test("a moment that clocks do not agree on is just now", () => {
  const now = new Date("2026-01-01T00:00:00Z");
  const at = (ms: number) => ago(new Date(now.getTime() + ms), now);
  expect([at(0), at(3000), at(-3000), at(-60_000), at(60_000)]).toEqual([
    "just now",
    "just now",
    "just now",
    "1 min ago",
    "in 1 min",
  ]);
});

test("99.9 % are not all of it", () => {
  expect([percent(999, 1000), percent(1000, 1000), percent(0, 0), percent(-1, 5), percent(9, 5)]).toEqual([
    99, 100, 100, 0, 100,
  ]);
});

test("a large number is written in groups, and so is one with a noun", () => {
  expect([0, 999, 1000, 8860, 1_234_567, -12_345].map(count)).toEqual(["0", "999", "1,000", "8,860", "1,234,567", "-12,345"]);
  expect(plural(8860, "item")).toBe("8,860 items");
});

test("words", () => {
  expect(plural(1, "device")).toBe("1 device");
  expect(plural(10_000, "device")).toBe("10,000 devices");
  expect(plural(2, "change waits", "changes wait")).toBe("2 changes wait");
  expect(sentence("the daemon does not answer")).toBe("The daemon does not answer.");
  expect(sentence("Done!")).toBe("Done!");
  expect(sentence(" ")).toBe("");
  expect(shortID("P56IOI7-MZJNU2Y-IQGDREY")).toBe("P56IOI7");
});

test("a longer time has more room on a line, and seconds are not lost beside months", () => {
  const [second = 0, month = 0, last] = roomAfter([
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:01.000Z",
    "2026-02-01T00:00:00.000Z",
  ]);
  expect(month).toBeGreaterThan(second * 4);
  expect(month).toBeLessThan(second * 8);
  expect(last).toBe(0);
  expect(roomAfter(["2026-01-01T00:00:01.000Z", "2026-01-01T00:00:00.000Z"])).toEqual([1, 0]);
});

// "Nas gets to know oslo" changed the name of a device.
test("a name keeps its first letter where it begins a sentence", () => {
  learnNames(["nas", "old box", "office"]);
  expect(["nas was never read", "old box: no answer", "office: added", "the plan is another", "options.natEnabled is strange"].map(sentence)).toEqual([
    "nas was never read.",
    "old box: no answer.",
    "office: added.",
    "The plan is another.",
    "options.natEnabled is strange.",
  ]);
  expect(["anna is disabled", "soak has its default", "Stored"].map(ended)).toEqual([
    "anna is disabled.",
    "soak has its default.",
    "Stored.",
  ]);
  expect(["berlin-7 is away", "iPhone is away", "e-mail", "ok."].map(sentence)).toEqual(["berlin-7 is away.", "iPhone is away.", "e-mail.", "Ok."]);
});
