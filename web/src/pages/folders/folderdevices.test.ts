import { expect, test } from "vitest";
import { folderQuery, isPicked, readFolderFilter, writeFolderFilter } from "./folderdevices";

test("the address of a folder's page carries what one filters and sorts by", () => {
  for (const address of ["", "q=nas&tag=office&state=stopped&state=behind&sort=label", "sort=-needBytes"]) {
    expect(writeFolderFilter(readFolderFilter(new URLSearchParams(address))).toString()).toBe(address);
  }
  expect(readFolderFilter(new URLSearchParams())).toMatchObject({ sort: "state", descending: true });
  expect(isPicked(readFolderFilter(new URLSearchParams("sort=label")))).toBe(false);
  expect(isPicked(readFolderFilter(new URLSearchParams("state=behind")))).toBe(true);
});

test("the server is asked for one page, and not for a tag that is being typed", () => {
  const filter = readFolderFilter(new URLSearchParams("q=nas&tag=off&state=behind"));
  expect(folderQuery(filter, ["office"], "7.A.B")).toEqual({ q: "nas", state: ["behind"], after: "7.A.B", sort: "-state", limit: 50 });
  expect(folderQuery({ ...filter, tag: "office" }, ["office"], "")).toMatchObject({ tag: "office" });
});
