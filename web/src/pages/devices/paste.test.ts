import { expect, test } from "vitest";
import { hostAndPort, readPaste } from "./paste";

const id = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2";

test("commas, semicolons and tabs", () => {
  const text = [
    "Device ID,Label,Address,Port,API key,Tags",
    `${id}, nas, 10.0.0.7, 8385, key, office lima`,
    "",
    "# a comment",
    `${id.replaceAll("-", "").toLowerCase()}\tlaptop, old\t\t\tkey`,
  ].join("\r\n");
  expect(readPaste(text)).toEqual({
    devices: [
      { deviceID: id, label: "nas", apiAddress: "10.0.0.7", apiPort: 8385, apiKey: "key", tags: ["office", "lima"] },
      {
        deviceID: id.replaceAll("-", "").toLowerCase(),
        label: "laptop, old",
        apiAddress: "",
        apiPort: 8384,
        apiKey: "key",
        tags: [],
      },
    ],
    errors: [],
  });
});

test("what cannot be read is named by its line", () => {
  const { devices, errors } = readPaste(`${id},a,,0,key\nx,b,,,key\n${id},c`);
  expect(devices).toEqual([]);
  expect(errors.map((error) => error.line)).toEqual([1, 2, 3]);
});

test.each([
  ["127.0.0.1:8385", { apiAddress: "127.0.0.1", apiPort: 8385 }],
  ["https://nas.example:8384/#settings", { apiAddress: "nas.example", apiPort: 8384 }],
  [" nas.example ", { apiAddress: "nas.example" }],
  ["[fd00::7]:8384", { apiAddress: "fd00::7", apiPort: 8384 }],
  ["fd00::7", { apiAddress: "fd00::7" }],
  ["", { apiAddress: "" }],
])("the address %s of a GUI", (text, read) => expect(hostAndPort(text)).toEqual(read));
