import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stopping } from "./stopping";

const root = new URL("../../../", import.meta.url).pathname;
const read = (path: string) => readFileSync(root + path, "utf8");

test("the manual has the four ways of stopping in the words of the console", () => {
  const concepts = read("docs/concepts.md");
  const glossary = read("docs/glossary.md");
  for (const { state, stops, goesOn, act, back } of Object.values(stopping)) {
    expect(concepts).toContain(`| **${state}** | ${stops} | ${goesOn} | *${act}*;`);
    expect(concepts).toContain(`| *${back}*;`);
    expect(glossary).toContain(`| ${state.toLowerCase()} | `);
  }
});

// Words that were used for a way of stopping besides those of the table.
const former = [
  /not even watch/i,
  /observes only/i,
  /observed only/i,
  /pause (Muster|these devices)/i,
  /Muster is paused/i,
  /(device|watching|its mode) is paused/i,
  /Stopped \((observe|paused)\)/,
];

/** texts gives the files below a folder that end so, but for tests and what is generated. */
function texts(folder: string, ending: RegExp): string[] {
  return readdirSync(root + folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((name) => ending.test(name) && !/_test\.go$|\.test\.ts$|schema\.d\.ts$|\/adr\/|CHANGELOG/.test(name));
}

test("no text has other words for a way of stopping", () => {
  const files = [
    ...["api", "client", "internal"].flatMap((folder) => texts(folder, /\.go$/)),
    ...texts("web/src", /\.tsx?$/),
    ...texts("docs", /\.md$/),
  ];
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((name) =>
    read(name)
      .split("\n")
      .filter((line) => !/^\s*(\/\/|\*)/.test(line) && former.some((words) => words.test(line)))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
