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

// A tag that no device had was left out: the page and its export had every device.
test("the server is asked for one page, with the tag of the filter as it stands", () => {
  const filter = readFolderFilter(new URLSearchParams("q=nas&tag=gone&state=behind"));
  const usual = { sort: "-state", limit: 50 };
  expect(folderQuery(filter, "7.A.B")).toEqual({ q: "nas", tag: "gone", state: ["behind"], after: "7.A.B", ...usual });
  expect(folderQuery(readFolderFilter(new URLSearchParams()), "")).toEqual(usual);
});
