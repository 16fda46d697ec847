import { expect, test } from "vitest";
import { byFolder, encryptedOn, folderKey, oneSided, oneSidedText } from "./sharing";

const peer = (deviceID: string, side: "both" | "onlyHere" | "unmanaged", encrypted = false) => ({
  deviceID,
  label: deviceID,
  side,
  encrypted,
  connected: "yes" as const,
});

test("shares that only one side has, and devices that have the folder encrypted, are found", () => {
  const shares = [
    { deviceID: "A", label: "a", type: "sendreceive", peers: [peer("B", "both"), peer("C", "onlyHere"), peer("X", "unmanaged", true)] },
    { deviceID: "B", label: "b", type: "receiveencrypted", peers: [peer("A", "both")] },
  ];
  expect(oneSided(shares).map(({ from, to }) => [from.label, to.label])).toEqual([["a", "C"]]);
  expect([...encryptedOn(shares)].sort()).toEqual(["B", "X"]);
});

test("shares beyond the first peers of an answer were not counted", () => {
  expect(oneSidedText([{ peerCount: 1 }], false)).toEqual({
    all: 1,
    text: "1 share that only one side has: nothing is exchanged by it",
  });
  const { all, text } = oneSidedText([{ peerCount: 40 }, { peerCount: 2 }], true);
  expect(all).toBe(42);
  expect(text).toBe("42 shares that only one side has, of the first 200 devices: nothing is exchanged by them");
});

test("one-sided shares of the fleet are put together by folder", () => {
  const share = (folder: string, label: string, peerLabel: string) => ({
    folder,
    folderLabel: folder.toUpperCase(),
    deviceID: label,
    label,
    peerID: peerLabel,
    peerLabel,
  });
  const found = byFolder([share("m", "a", "b"), share("p", "a", "b"), share("p", "c", "a")]);
  expect(found.map((one) => [one.label, ...one.found.map(({ from, to }) => `${from.label} ${to.deviceID}`)])).toEqual([
    ["M", "a b"],
    ["P", "a b", "c a"],
  ]);
});

test("the key of a folder quotes what has to be quoted", () => {
  expect([folderKey("photos"), folderKey("a.b"), folderKey('"')]).toEqual(["folders.photos", 'folders."a.b"', 'folders."\\""']);
});
