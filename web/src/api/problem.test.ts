import { expect, test } from "vitest";
import { placeOf } from "./problem";

// "templates.new.0.template: options.maxSendKbps takes a number" stood on the page of a template.
test("an error about a template names no field of the request", () => {
  expect(placeOf({ field: "templates.new.0.template" })).toBe("");
  expect(placeOf({ field: "templates.changed.2.key" })).toBe("");
  expect(placeOf({ field: "templates.new.0.template", line: 3, column: 7 })).toBe("Line 3, column 7: ");
  expect(placeOf({ field: "apiPort" })).toBe("apiPort: ");
});
