import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { afterAnswer, commandOf, filledBody, filledPath, requestsOf, thingsIn } from "./waiting";

const device = (deviceID: string) => ({ deviceID, label: "", detail: "", held: [], values: { deviceID, digest: `d-${deviceID}` } });
const action = {
  name: "apply" as const,
  method: "POST" as const,
  path: "/api/v1/devices/{deviceID}/apply",
  body: { digest: "{digest}" },
  role: "operator" as const,
  each: true,
  ask: [],
  shown: false,
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

const change = (deviceID: string, digest: string) => ({
  deviceID,
  label: "",
  digest,
  key: "folders.photos",
  from: {},
  to: null,
  reason: "",
  names: { devices: [], folders: [], paths: [] },
});

test("an answer names each change that was shown, and none that was too large to be shown", () => {
  const consent = { ...action, each: false, shown: true, path: "/api/v1/consents", body: { answer: "consent", shown: [] } };
  const devices = [
    { ...device("A"), held: [change("A", "a1"), change("A", "a2")] },
    { ...device("B"), held: [change("B", "")] },
  ];
  expect(requestsOf(consent, devices, {})).toEqual([
    {
      method: "POST",
      path: "/api/v1/consents",
      body: { answer: "consent", shown: [{ deviceID: "A", digest: "a1" }, { deviceID: "A", digest: "a2" }] },
    },
  ]);
});

test("a person who answers is told who still waits", () => {
  const answered = { digest: "d", key: "k", answer: "consent" as const, rollout: 0, notShown: 0, gone: [], next: "" };
  const key = { deviceID: "B", label: "", key: "k" };
  const devices = [{ deviceID: "A", label: "" }];
  expect(afterAnswer({ ...answered, devices, changes: [], waiting: [key, key] })).toBe(
    "Answered for 1 device. 1 device joined or changed meanwhile, and waits.",
  );
  expect(afterAnswer({ ...answered, devices, changes: [], waiting: [], rollout: 4, notShown: 2 })).toBe(
    "Answered for 1 device. 2 members of rollout 4 that were not shown use it too.",
  );
  expect(afterAnswer({ ...answered, devices, changes: [], waiting: [], gone: ["ABCDEFG-HIJKLMN"] })).toBe(
    "Answered for 1 device. Deleted meanwhile, and not answered for: ABCDEFG.",
  );
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

// "{pendingID} --path {path}" stood in the console to be typed.
test("a command that is shown can be typed", () => {
  const action = {
    name: "accept",
    method: "POST",
    path: "/x",
    each: true,
    ask: ["path"],
    command: "muster pending accept {pendingID} --path {path}",
    role: "admin",
    removes: false,
  } as Schemas["WaitingAction"];
  const group = (count: number) => ({ deviceCount: count, devices: [{ ...device("A"), values: { pendingID: "f-1", path: "~/Sync/a" } }] });
  expect(commandOf(group(1), action, {})).toBe("muster pending accept f-1 --path '~/Sync/a'");
  expect(commandOf(group(1), action, { path: "/data/it's" })).toBe("muster pending accept f-1 --path '/data/it'\\''s'");
  expect(commandOf(group(1), action, { path: "" })).toBe("");
  expect(commandOf(group(2), action, {})).toBe("");
});

test("things are counted, not kinds of things", () => {
  expect(
    thingsIn(
      [
        { cause: "held", deviceCount: 10 },
        { cause: "rolloutHalted", deviceCount: 50 },
        { cause: "enrollment", deviceCount: 0 },
      ],
      [
        { devices: 2, folders: 5 },
        { devices: 3, folders: 0 },
      ],
    ),
  ).toBe(20);
  expect(thingsIn([], [])).toBe(0);
});
