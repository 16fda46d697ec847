import { expect, test } from "vitest";
import { namesOf, sameChanges } from "./held";

const change = (deviceID: string, to: unknown) => ({
  deviceID,
  label: "",
  digest: `d-${deviceID}`,
  key: "devices.X",
  from: null,
  to,
  reason: "held",
  names: { devices: [], folders: [], paths: [] },
});

test("only changes with the same values are shown as one", () => {
  const kinds = sameChanges([change("A", { introducer: true }), change("B", { introducer: false }), change("C", { introducer: true })]);
  expect(kinds.map((same) => same.map(({ deviceID }) => deviceID))).toEqual([["A", "C"], ["B"]]);
});

test("a change says every device, folder and path that it names", () => {
  expect(
    namesOf({ devices: [{ deviceID: "AAAAAAA-B", label: "nas" }], folders: ["photos"], paths: ["/srv/photos"] }),
  ).toBe("nas, folder photos, /srv/photos");
});
