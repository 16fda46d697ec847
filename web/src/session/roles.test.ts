import { expect, test } from "vitest";
import { includes, refusal } from "./roles";

test("roles are cumulative", () => {
  expect(includes("admin", "operator")).toBe(true);
  expect(includes("operator", "author")).toBe(false);
  expect(includes("viewer", "viewer")).toBe(true);
});

test("a refusal says who can", () => {
  expect(refusal("viewer", "operator")).toContain("a person with the role operator or higher");
  expect(refusal("author", "admin")).toContain("an administrator");
});
