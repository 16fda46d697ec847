import { expect, test } from "vitest";
import { quietSeconds, quietText, quietWords } from "./quiet";

test.each([
  ["", 0],
  ["2d", 172_800],
  [" 36 h ", 129_600],
  ["3 days", 259_200],
  ["1 Day", 86_400],
  ["1 hour", 3600],
  ["36hours", 129_600],
  ["90m", 5400],
  ["90 min", 5400],
  ["1 minute", 60],
  ["2 minutes", 120],
  ["45s", 45],
  ["1 second", 1],
  ["45 seconds", 45],
  ["365d", 31_536_000],
])("%j is %d seconds", (text, seconds) => expect(quietSeconds(text)).toBe(seconds));

test.each(["soon", "5", "-1d", "366d", "1.5h", "9999999999s", "2 fortnights"])("%j is no time", (text) =>
  expect(quietSeconds(text)).toBeUndefined(),
);

// `2 months` was 2 minutes, and `1 decade` a day.
test.each(["2 months", "1 month", "1 decade", "3 mins", "2 hrs", "1 dayss", "5 sec"])("%j is no unit", (text) =>
  expect(quietSeconds(text)).toBeUndefined(),
);

test("what is stored is shown as it can be typed", () => {
  for (const seconds of [0, 45, 5400, 129_600, 172_800]) expect(quietSeconds(quietText(seconds))).toBe(seconds);
  expect([86_400, 7200, 5400, 61].map(quietWords)).toEqual(["1 day", "2 hours", "90 minutes", "61 seconds"]);
});
