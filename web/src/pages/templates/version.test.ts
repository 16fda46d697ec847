import { expect, test } from "vitest";
import { lineDifference } from "../../ui/lines";
import { whole } from "./version";

test("the difference of two versions names what else than the text was changed", () => {
  const before = { label: "Slow line", priority: 10, op: "set", key: "options.maxSendKbps", template: "5\n" };
  const after = { ...before, priority: 20, template: "7\n" };
  const changed = lineDifference(whole(before), whole(after)).filter((line) => line.sign !== " ");
  expect(changed.map((line) => line.sign + line.text)).toEqual(["-priority: 10", "+priority: 20", "-5", "+7"]);
});
