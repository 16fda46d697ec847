import { expect, test } from "vitest";
import { action, grouped, isLarge, valueText, withIDs, withLabels, withTemplates } from "./difference";

const id = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2";
const other = "BG2C5ZA-W7XPFDO-LH222Z6-65F3HJX-ADFTGRT-3SBFIGM-KV26O2Q-E5RMRQ2";

test("device IDs read as labels, those that are not known by their first group", () => {
  const labels = new Map([[id, "nas"]]);
  expect(withLabels(`folders.team.devices.${id}`, labels)).toBe("folders.team.devices.nas");
  expect(withLabels(`${id} and ${other}`, labels)).toBe("nas and BG2C5ZA");
  expect(withIDs(`"${id}", "${other}"`, labels)).toBe('"P56IOI7 (nas)", "BG2C5ZA"');
  expect(withLabels("options.natEnabled", labels)).toBe("options.natEnabled");
});

test.each([
  [null, "not set"],
  [undefined, "not set"],
  [true, "on"],
  [false, "off"],
  [0, "0"],
  ["", '""'],
  ["~/team", "~/team"],
  [[], "empty list"],
  [["a", 1], "a, 1"],
  [{ a: 1 }, '{\n  "a": 1\n}'],
])("%j reads as %s", (value, text) => expect(valueText(value)).toBe(text));

test("what a change does", () => {
  expect(action({ key: "a", from: null, to: false })).toBe("add");
  expect(action({ key: "a", from: 0, to: null })).toBe("remove");
  expect(action({ key: "a", from: false, to: true })).toBe("change");
  expect(isLarge({ a: 1 })).toBe(true);
  expect(isLarge("short")).toBe(false);
});

test("equal changes are one group, those of most devices first", () => {
  const set = (to: unknown) => ({ key: "options.maxSendKbps", from: 0, to });
  const groups = grouped([
    { deviceID: "A", label: "a", changes: [set(5)] },
    { deviceID: "B", label: "b", changes: [set(7), set(5)] },
    { deviceID: "C", label: "c", changes: [set("5")] },
  ]);
  expect(groups.map((one) => [one.change.to, one.devices.map((device) => device.label)])).toEqual([
    [5, ["a", "b"]],
    [7, ["b"]],
    ["5", ["c"]],
  ]);
});

test("templates are named in a text where they are known", () => {
  const names = new Map([[5, "Fewer relays"]]);
  expect(withTemplates('template 5: tag "demo", template 51, templates 5', names)).toBe(
    'template “Fewer relays”: tag "demo", template 51, templates 5',
  );
});
