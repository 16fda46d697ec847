import { afterEach, expect, test, vi } from "vitest";
import { startJob } from "./jobs";

const leaving = { add: vi.fn(), remove: vi.fn() };
vi.stubGlobal("window", { addEventListener: leaving.add, removeEventListener: leaving.remove });
afterEach(() => vi.clearAllMocks());

const items = ["a", "b", "c"].map((label) => ({ deviceID: label, label }));

test("a job counts what failed and what waits, and is repeated for those on which it failed", async () => {
  const told: string[] = [];
  let broken = true;
  const act = async ({ label }: { label: string }) => {
    told.push(label);
    if (label === "b" && broken) throw new Error("no room");
    return label === "c" ? "waits" : undefined;
  };
  const over = vi.fn();
  const job = await startJob("Applied", items, act, over);
  expect(job.done).toBe(3);
  expect(job.failed.map(({ item, reason }) => `${item.label}: ${reason}`)).toEqual([expect.stringMatching(/^b: no room/)]);
  expect(job.waiting.map(({ label }) => label)).toEqual(["c"]);
  expect(over).toHaveBeenCalledTimes(1);

  broken = false;
  told.length = 0;
  job.again();
  await vi.waitFor(() => expect(over).toHaveBeenCalledTimes(2));
  expect(told).toEqual(["b"]);
});

test("leaving the page asks while a job runs, and no longer", async () => {
  let go: (value?: unknown) => void = () => undefined;
  const held = new Promise((resolve) => (go = resolve));
  const job = startJob("Tagged", items.slice(0, 1), () => held, () => undefined);
  expect(leaving.add).toHaveBeenCalledWith("beforeunload", expect.any(Function));
  expect(leaving.remove).not.toHaveBeenCalled();
  go();
  await job;
  expect(leaving.remove).toHaveBeenCalledWith("beforeunload", expect.any(Function));
});
