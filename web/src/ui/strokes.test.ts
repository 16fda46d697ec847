import * as icons from "@tabler/icons-react";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { strokesOf } from "./strokes";

const source = readFileSync(new URL("./state.tsx", import.meta.url), "utf8");
const names = [...new Set(source.match(/Icon[A-Z]\w+/g))];

test("the icons of all states are paths that can be joined", () => {
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const strokes = strokesOf(icons[name as "IconKey"]);
    expect(strokes.length, name).toBeGreaterThan(0);
    for (const stroke of strokes) expect(stroke, name).toMatch(/^M/); // where it starts does not depend on the one before
  }
});
