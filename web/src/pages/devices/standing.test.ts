import { expect, test } from "vitest";
import { standing } from "./standing";

const warning = `Do NOT put an empty folder there. ${"Mount the disk. ".repeat(30)}Then create an empty .stfolder.`;

const inSync = {
  connection: "online",
  configuration: "inSync",
  reason: "the daemon has what its templates ask for",
  next: "",
  folders: { folder: "handbook", reason: "folder path missing", next: warning },
} as Parameters<typeof standing>[0];

test("what keeps files from being deleted is not cut", () => {
  expect(standing(inSync, "stopped", ["folderStopped"]).lines[0]?.next).toBe(warning);
});

test("a stopped folder is red and comes before a configuration that is in sync", () => {
  const { tone, lines } = standing(inSync, "stopped", ["folderStopped"]);
  expect(tone).toBe("bad");
  expect(lines.map((one) => one.reason)).toEqual([
    "Folder handbook: Folder path missing.",
    "The daemon has what its templates ask for.",
  ]);
});

test("a device that nobody reaches says that before its folders", () => {
  const { tone, lines } = standing({ ...inSync, connection: "unreachable", reason: "it does not answer" }, "stopped", [
    "unreachable",
  ]);
  expect([tone, lines[0]?.reason]).toEqual(["bad", "It does not answer."]);
});

test("a lesser trouble is not green, and no trouble is", () => {
  const calm = { ...inSync, folders: undefined } as Parameters<typeof standing>[0];
  expect(standing(calm, "stalled", ["stalled"]).tone).toBe("wait");
  expect(standing(calm, "upToDate", []).tone).toBe("good");
});

test("a folder that is only syncing does not come first", () => {
  const { tone, lines } = standing(inSync, "syncing", []);
  expect([tone, lines[0]?.reason]).toEqual(["good", "The daemon has what its templates ask for."]);
});

test("a stopped folder is red and comes before a device that waits for its wave, or for an answer", () => {
  for (const configuration of ["pending", "held"] as const) {
    const { tone, lines } = standing({ ...inSync, configuration }, "stopped", ["folderStopped"]);
    expect([configuration, tone, lines[0]?.next]).toEqual([configuration, "bad", warning]);
  }
});
