import { expect, test } from "vitest";
import { cellsOf, matrixQuery, readMatrixFilter, writeMatrixFilter } from "./matrixquery";

test("the address of the matrix carries which part of it shows", () => {
  for (const address of ["", "q=nas&tag=office&folderState=stopped&folder=team&sort=-folderState&from=40&fromFolder=25"]) {
    expect(writeMatrixFilter(readMatrixFilter(new URLSearchParams(address))).toString()).toBe(address);
  }
  expect(readMatrixFilter(new URLSearchParams("from=-3&fromFolder=x"))).toMatchObject({ from: 0, fromFolder: 0 });
});

// A tag that no device had was left out: the matrix and its export had every device.
test("the server is asked for the part that shows, with the tag of the filter as it stands", () => {
  const filter = readMatrixFilter(new URLSearchParams("tag=gone&folder=team&from=40"));
  expect(matrixQuery(filter)).toEqual({ tag: ["gone"], folder: "team", offset: 40, limit: 20, folderLimit: 25 });
  expect(matrixQuery({ ...filter, tag: "" })).not.toHaveProperty("tag");
});

test("an export has one row for each folder on each device", () => {
  const devices = ["a", "b"].map((label) => ({ deviceID: label.toUpperCase(), label, connection: "online" }));
  const cell = (device: number) => ({ device, state: "behind" as const, completion: 50, needBytes: 7 });
  const folders = [{ folder: "p", label: "Photos", cells: [cell(1), cell(0)] }];
  expect(cellsOf({ devices, folders })).toEqual(
    ["B", "A"].map((id) => ({
      ...{ folder: "p", folderLabel: "Photos", deviceID: id, label: id.toLowerCase(), connection: "online" },
      ...{ state: "behind", completion: 50, needBytes: 7 },
    })),
  );
});
