import { expect, test } from "vitest";
import type { InventoryDevice } from "../../api/inventory";
import { counted, isFiltered, picker, readFilter, sorted, writeFilter } from "./filter";

function row(part: Partial<InventoryDevice>): InventoryDevice {
  return {
    deviceID: part.label ?? "",
    label: "",
    tags: [],
    connection: "online",
    configuration: "inSync",
    mode: "on",
    reason: "",
    next: "",
    since: null,
    lastSeen: null,
    version: "v2.1.3",
    os: "linux",
    arch: "amd64",
    address: "",
    foundBy: "record",
    folders: { all: 0 },
    needBytes: 0,
    needUnknown: 0,
    diskFree: null,
    waits: [],
    ...part,
  };
}

const rows = [
  row({ label: "nas-10", tags: ["office"], configuration: "failed", waits: ["failed"], folders: { all: 2, upToDate: 1, stopped: 1 } }),
  row({ label: "nas-9", version: "v2.1.2", tags: ["office", "lima"], connection: "unreachable", configuration: "unknown", folders: { all: 1, unknown: 1 } }),
  row({ label: "Laptop <b>", tags: ["lima"], os: "windows", needBytes: 7, since: "2026-01-02T00:00:00Z" }),
];
function labels(query: string) {
  const filter = readFilter(new URLSearchParams(query));
  return sorted(rows, filter)
    .filter(picker(filter, new Set(["v2.1.2"])))
    .map((one) => one.label);
}

test("labels are sorted as people count", () => expect(labels("")).toEqual(["Laptop <b>", "nas-9", "nas-10"]));

test.each([
  ["q=NAS", ["nas-9", "nas-10"]],
  ["q=lima nas", ["nas-9"]],
  ["q=<b>", ["Laptop <b>"]],
  ["tag=office&tag=lima", ["nas-9"]],
  ["state=failed&state=unreachable", ["nas-9", "nas-10"]],
  ["os=windows", ["Laptop <b>"]],
  ["version=v1", []],
  ["waiting=any", ["nas-10"]],
  ["waiting=failed", ["nas-10"]],
  ["waiting=held", []],
  ["folderState=stopped&folderState=alone", ["nas-10"]],
  ["folderState=unknown", ["nas-9"]],
  ["stale=7d", ["nas-9"]],
  ["stale=soon", ["Laptop <b>", "nas-9", "nas-10"]],
  ["version=%3C2.1.3", ["nas-9"]],
  ["version=%3C2.1.3&version=v2.1.3", ["Laptop <b>", "nas-9", "nas-10"]],
  ["outdated=true", ["nas-9"]],
  ["order=no", ["nas-9", "nas-10"]],
  ["sort=folders", ["nas-10", "nas-9", "Laptop <b>"]],
  ["sort=configuration", ["nas-10", "nas-9", "Laptop <b>"]],
  ["sort=-need", ["Laptop <b>", "nas-9", "nas-10"]],
  ["sort=no-such-column", ["Laptop <b>", "nas-9", "nas-10"]],
])("%s", (query, want) => expect(labels(query)).toEqual(want));

test("an address is read as it was written", () => {
  const query = "q=a+b&tag=x%2Fy&tag=z&state=held&version=v2.1.3&version=%3C2&outdated=true&os=linux&folderState=stopped&waiting=failed&stale=7d&order=no&sort=-since&view=differences";
  expect(writeFilter(readFilter(new URLSearchParams(query))).toString()).toBe(query);
  expect(writeFilter(readFilter(new URLSearchParams(""))).toString()).toBe("");
});

test("sorting leaves out no row", () => {
  expect(isFiltered(readFilter(new URLSearchParams("sort=-since&view=differences")))).toBe(false);
  expect(isFiltered(readFilter(new URLSearchParams("tag=a")))).toBe(true);
});

test("values are counted, most first", () => {
  expect(counted(rows, (one) => one.tags)).toEqual([
    ["lima", 2],
    ["office", 2],
  ]);
});
