import { expect, test } from "vitest";
import { addressOf, channelBody, inWords, isOfDevices, isTooMany, silenceOf } from "./telling";

test("a silence names its devices or a tag, or its kind where there are too many devices", () => {
  const now = new Date("2026-11-29T12:00:00Z");
  expect(silenceOf({ cause: "unreachable", devices: ["A", "B"], tags: [] }, 4, now)).toEqual({
    kinds: ["unreachable"],
    devices: ["A", "B"],
    until: "2026-11-29T16:00:00.000Z",
  });
  const many = Array.from({ length: 101 }, (_, i) => String(i));
  expect(silenceOf({ cause: "unreachable", devices: many, tags: ["site:berlin"] }, 1, now)).toEqual({
    kinds: ["unreachable"],
    tags: ["site:berlin"],
    until: "2026-11-29T13:00:00.000Z",
  });
});

test("what a route chooses is said in words", () => {
  const any = { tags: [], kinds: [], severities: [], folders: [], devices: [] };
  expect(inWords(any)).toBe("everything");
  expect(inWords({ ...any, tags: ["site:berlin"], severities: ["critical", "warning"] })).toBe(
    "tag site:berlin, severity critical or warning",
  );
});

test("a channel shows where it sends to", () => {
  expect(addressOf({ type: "default", to: "", host: "" })).toBe("the receivers of flags and settings");
  expect(addressOf({ type: "mail", to: "a@example.org", host: "" })).toBe("a@example.org");
  expect(addressOf({ type: "webhook", to: "", host: "hooks.example.org" })).toBe("hooks.example.org");
});

test("what is of no device is not silenced for devices, and too many devices are known before", () => {
  expect(["rolloutHalted", "rolloutApproval", "enrollment", "impairment"].some(isOfDevices)).toBe(false);
  expect(isOfDevices("unreachable")).toBe(true);
  expect([100, 101].map(isTooMany)).toEqual([false, true]);
});

test("a secret that is left blank stays as it is", () => {
  expect(channelBody({ type: "webhook", address: " https://example.org ", secret: "" })).toEqual({
    type: "webhook",
    url: "https://example.org",
  });
  expect(channelBody({ type: "ntfy", address: "https://ntfy.sh/x", secret: "t" }).secret).toBe("t");
  expect(channelBody({ type: "mail", address: "a@example.org", secret: "t" })).toEqual({ type: "mail", to: "a@example.org" });
});
