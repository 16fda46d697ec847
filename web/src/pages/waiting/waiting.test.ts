import { expect, test } from "vitest";
import { filledBody, filledPath, requestsOf } from "./waiting";

const device = (deviceID: string) => ({ deviceID, label: "", detail: "", values: { deviceID, digest: `d-${deviceID}` } });
const action = {
  name: "apply" as const,
  method: "POST" as const,
  path: "/api/v1/devices/{deviceID}/apply",
  body: { digest: "{digest}" },
  role: "operator" as const,
  each: true,
  ask: [],
  removes: false,
  command: "",
};

test("an action for each device is one request for each", () => {
  expect(requestsOf(action, [device("A"), device("B")], {})).toEqual([
    { method: "POST", path: "/api/v1/devices/A/apply", body: { digest: "d-A" } },
    { method: "POST", path: "/api/v1/devices/B/apply", body: { digest: "d-B" } },
  ]);
});

test("an action for a group is one request, with what a person answers", () => {
  const group = { ...action, each: false, path: "/api/v1/consents", body: { answer: "{answer}", devices: ["A", "B"] } };
  expect(requestsOf(group, [device("A"), device("B")], { answer: "keep" })).toEqual([
    { method: "POST", path: "/api/v1/consents", body: { answer: "keep", devices: ["A", "B"] } },
  ]);
});

test("what daemons say leads to no other path", () => {
  expect(filledPath("/api/v1/pending/{id}/accept", { id: "../../users?x=1#" })).toBe(
    "/api/v1/pending/..%2F..%2Fusers%3Fx%3D1%23/accept",
  );
  expect(filledBody({ name: "{name}", n: 1, no: null }, { name: '{"x": 1}' })).toEqual({ name: '{"x": 1}', n: 1, no: null });
});

test("a value that is missing sends nothing", () => {
  expect(() => filledPath("/x/{id}", {})).toThrow("no value for id");
});
