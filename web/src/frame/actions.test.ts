import { expect, test } from "vitest";
import type { InventoryDevice } from "../api/inventory";
import type { Role } from "../session/roles";
import { actionsFor, type Known } from "./actions";

const device = (label: string) => ({ deviceID: `${label.toUpperCase()}-ID`, label, mode: "on", connection: "online", tags: [] }) as unknown as InventoryDevice;
const known = (role: Role, part: Partial<Known> = {}): Known => ({
  ...{ role, devices: [device("laptop"), device("nas"), device("restorer")] },
  ...{ users: ["anna"], rollout: { id: 7, cause: "Team shared" }, mode: "on", ...part },
});
const names = (text: string, of: Known, most = 20) => actionsFor(text, of, most).map(({ name }) => name);

test("an act and a device are found by both of their words, in any order", () => {
  for (const text of ["rescan laptop", "laptop rescan", "resc lap"]) {
    expect(names(text, known("operator"))[0], text).toBe("Rescan laptop");
  }
  expect(names("upgrade", known("operator"))).toEqual([
    "Upgrade laptop",
    "Upgrade nas",
    "Upgrade restorer",
    "Search the manual for upgrade",
  ]);
  expect(names("why nas", known("viewer"))[0]).toBe("Why, of a key on nas");
  expect(actionsFor("open nas", known("viewer"), 5)[0]?.does).toEqual({ to: "/devices/NAS-ID" });
});

test("only what the role may do is offered", () => {
  const all = (role: Role) => ["rescan laptop", "share a folder", "add a device", "log-in", "undo", "stop all writes"].flatMap((text) => names(text, known(role)).slice(0, -1));
  expect(all("viewer")).toEqual([]);
  expect(all("operator")).toEqual(["Rescan laptop", "Stop writing to all devices", "Stop watching all devices"]);
  expect(all("author")).toEqual(["Rescan laptop", "Share a folder", "Undo the last rollout, 7", "Stop writing to all devices", "Stop watching all devices"]);
  expect(all("admin")).toContain("Make a log-in link for anna");
  expect(all("admin")).toContain("Add a device");
});

test("writes are stopped or resumed as the fleet is", () => {
  expect(names("writes", known("admin", { mode: "observe" }))).toContain("Write again, to all devices");
  expect(names("writes", known("admin", { mode: "observe" }))).not.toContain("Stop writing to all devices");
  expect(names("writes", known("operator", { mode: "observe" }))).not.toContain("Write again, to all devices");
  expect(names("writes", known("admin", { mode: undefined }))).toEqual(["Search the manual for writes"]);
});

test("nothing is offered before something is typed, and no more than there is room for", () => {
  expect(names(" ", known("admin"))).toEqual([]);
  expect(names("restart", known("admin"), 2)).toEqual(["Restart laptop", "Restart nas", "Search the manual for restart"]);
});
