import { expect, test } from "vitest";
import { labelsText, moreTexts } from "./sentencetext";

test("devices beyond the labels are counted with separators", () => {
  expect(labelsText({ labels: ["nas", "oslo"], devices: 2 })).toBe("nas, oslo");
  expect(labelsText({ labels: ["nas", "oslo"], devices: 1202 })).toBe("nas, oslo and 1,200 more");
});

test("devices without a plan are counted where no change is left out", () => {
  expect(moreTexts({ moreChanges: 0, moreDevices: 0, moreWithoutPlan: 10 })).toEqual(["and 10 more devices without a plan"]);
  expect(moreTexts({ moreChanges: 1, moreDevices: 1, moreWithoutPlan: 1 })).toEqual([
    "and 1 more change on 1 device: the keys and values are below",
    "and 1 more device without a plan",
  ]);
  expect(moreTexts({ moreChanges: 0, moreDevices: 0, moreWithoutPlan: 0 })).toEqual([]);
});
