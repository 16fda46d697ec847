import { expect, test } from "vitest";
import { worstFirst } from "./order";

test("the device with the worst state is first, of equal ones the one that lacks most", () => {
  const one = (state: string, needBytes: number) => ({ state, needBytes });
  const all = [one("upToDate", 0), one("syncing", 1), one("syncing", 5), one("stopped", 0)];
  expect(worstFirst(all).map(({ state, needBytes }) => `${state} ${needBytes}`)).toEqual([
    "stopped 0",
    "syncing 5",
    "syncing 1",
    "upToDate 0",
  ]);
});
