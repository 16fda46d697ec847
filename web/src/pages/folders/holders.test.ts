import { expect, test } from "vitest";
import { holdersOf } from "./holders";

const peer = (deviceID: string, connected: "yes" | "no" | "unknown") => ({
  ...{ deviceID, connected, label: deviceID, encrypted: false },
  side: "both" as const,
});

test("what a device lacks comes from connected devices that are up to date, and from no others", () => {
  const shares = [
    { deviceID: "A", peers: [peer("B", "yes"), peer("C", "yes"), peer("D", "no"), peer("E", "unknown")] },
    { deviceID: "B", peers: [peer("A", "yes")] },
  ];
  const standings = [
    { deviceID: "A", state: "syncing" },
    { deviceID: "B", state: "upToDate" },
    { deviceID: "C", state: "stopped" },
    { deviceID: "D", state: "upToDate" },
    { deviceID: "E", state: "upToDate" },
  ];
  expect(holdersOf("A", shares, standings).map((one) => one.deviceID)).toEqual(["B"]);
  expect(holdersOf("Z", shares, standings)).toEqual([]);
});
