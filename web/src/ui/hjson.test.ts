import { StringStream } from "@codemirror/language";
import { expect, test } from "vitest";
import { hjson, isProgram } from "./hjson";

function tokens(text: string): string[] {
  const state = hjson.startState?.(2) ?? { multiline: false, comment: false, expects: "name" as const };
  const found: string[] = [];
  for (const line of text.split("\n")) {
    const stream = new StringStream(line, 2, 2);
    while (!stream.eol()) {
      stream.start = stream.pos;
      const style = hjson.token(stream, state);
      if (style) found.push(`${style} ${stream.current()}`);
    }
  }
  return found;
}

test("names, values and comments", () => {
  expect(tokens('{\n  # limits\n  maxSendKbps: 2000\n  "label": Price list\n  on: true, path: "~/x" // y\n}')).toEqual([
    "comment # limits",
    "propertyName maxSendKbps",
    "number 2000",
    'propertyName "label"',
    "string Price list",
    "propertyName on",
    "bool true",
    "propertyName path",
    'string "~/x"',
    "comment // y",
  ]);
});

test("texts and comments of several lines", () => {
  expect(tokens("a: '''\n  # text\n'''\n/* b: 1\n*/ c: 2")).toEqual([
    "propertyName a",
    "string '''",
    "string   # text",
    "string '''",
    "comment /*",
    "comment  b: 1",
    "comment */",
    "propertyName c",
    "number 2",
  ]);
});

test("a program has a top-level def", () => {
  expect(isProgram("# x\ndef template(device):\n    return 1")).toBe(true);
  expect(isProgram("{\n  def template(: 1\n}")).toBe(false);
});
