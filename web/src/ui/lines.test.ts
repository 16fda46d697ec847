import { expect, test } from "vitest";
import { lineDifference } from "./lines";

const shown = (a: string, b: string) => lineDifference(a, b).map((line) => line.sign + line.text);

test.each([
  ["", "", []],
  ["a\n", "a\n", [" a"]],
  ["", "a\nb\n", ["+a", "+b"]],
  ["a\nb", "", ["-a", "-b"]],
  ["a\nb\nc", "a\nx\nc\nd", [" a", "-b", "+x", " c", "+d"]],
  ["a\n\nb", "a\nb", [" a", "-", " b"]],
])("%j becomes %j", (a, b, want) => expect(shown(a, b)).toEqual(want));

test("long texts are replaced as a whole", () => {
  const long = "x\n".repeat(3000);
  expect(lineDifference(long, "x")).toHaveLength(3001);
});
