import { expect, test } from "vitest";
import { Problem } from "./problem";

// "GET devices/{deviceID}/state says what is in the way" stood on the page of a device.
test("a hint that names a path of the API is said in words of the console, with a link", () => {
  const body = { detail: "its daemon has not been reached yet", status: 404, hint: "GET devices/{deviceID}/state says why." };
  const told = new Problem({ ...body, see: { subject: "deviceState", id: "AAA" } });
  expect(told.hint).toBe("");
  expect(told.page).toEqual({ says: "The device says why", href: "/devices/AAA" });
  expect(new Problem({ ...body, see: { subject: "deviceState" } }).page?.href).toBe("");
  expect(new Problem({ ...body, hint: "Wait a minute." }).hint).toBe("Wait a minute.");
});
