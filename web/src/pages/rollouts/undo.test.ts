import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { afterUndo, answeredByUndo, consentOfUndo, shownOnce } from "./undo";

const listed = (deviceID: string, ...digests: (string | undefined)[]) => ({
  deviceID,
  changes: digests.map((digest) => ({ digest })),
});

// The consent of an undo was for whatever it removed, listed or not.
test("an undo names what was listed, and says so", () => {
  const plan = { devices: [listed("A", "1", undefined), listed("B", "2")] };
  expect(answeredByUndo(plan)).toEqual([
    { deviceID: "A", digest: "1" },
    { deviceID: "B", digest: "2" },
  ]);
  expect(consentOfUndo(plan)).toMatch("consents to 2 held changes");
});

test("what was not in the list is told after the undo", () => {
  const waiting = (deviceID: string, key: string) => ({ deviceID, label: "", key });
  expect(afterUndo({ waiting: [] })).toBe("It is taken back");
  expect(afterUndo({ waiting: [waiting("A", "folders.f"), waiting("A", "folders.g")] })).toMatch(
    "2 changes wait on 1 device for an answer",
  );
});

// An event of the fleet replaced the list while the dialog was open, so that what was sent is not what the person read.
test("the list of an undo is not replaced while it is on the screen", async () => {
  const client = new QueryClient();
  let reads = 0;
  const options = { queryKey: ["undo", 1], queryFn: () => Promise.resolve(++reads) };
  const open = () => {
    const observer = new QueryObserver(client, { ...options, ...shownOnce });
    return { observer, close: observer.subscribe(() => undefined) };
  };
  const dialog = open();
  await expect.poll(() => dialog.observer.getCurrentResult().data).toBe(1);
  await client.invalidateQueries({ type: "active" });
  await client.invalidateQueries({ queryKey: ["undo", 1] });
  expect(dialog.observer.getCurrentResult().data).toBe(1);
  dialog.close();
  await expect.poll(() => client.getQueryData(["undo", 1])).toBeUndefined();
  const again = open();
  await expect.poll(() => again.observer.getCurrentResult().data).toBe(2);
  again.close();
});
