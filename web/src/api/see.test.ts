import { expect, test } from "vitest";
import { Problem } from "./problem";

// "GET devices/{deviceID}/state says what is in the way" stood on the page of a device.
test("a hint that names a path of the API is said in words of the console, with a link", () => {
  const body = { detail: "its daemon has not been reached yet", status: 404, hint: "GET devices/{deviceID}/state says why." };
  const see = { subject: "deviceState", id: "AAA", says: "The device says why" } as const;
  const told = new Problem({ ...body, see });
  expect(told.hint).toBe("");
  expect(told.page).toEqual({ says: "The device says why", href: "/devices/AAA" });
  expect(new Problem({ ...body, see: { ...see, id: "" } }).page?.href).toBe("");
  expect(new Problem({ ...body, hint: "Wait a minute." }).hint).toBe("Wait a minute.");
});

// "the body has no field of a device" stood on a page.
test("an error about the form of a request is said in words of a page", () => {
  const told = new Problem({
    detail: '"colour" is no field of this object',
    status: 422,
    hint: "The fields are: label.",
    errors: [{ field: "colour", message: '"colour" is no field of this object' }],
    see: { subject: "request", says: "Load the page again" },
  });
  expect([told.message, told.hint, told.page, told.errors]).toEqual(["Load the page again", "", undefined, []]);
});
