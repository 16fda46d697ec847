import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { theme } from "./theme";

// Text is read at a contrast of at least 4.5 to 1 (WCAG 2, AA).
const least = 4.5;

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const css = readFileSync(new URL("ui.css", import.meta.url), "utf8");

/** coloursOf reads the variables of the first block of ui.css that a selector opens. */
function coloursOf(selector: string): Map<string, string> {
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf("}", start));
  const variables = [...block.matchAll(/--u-([\w-]+): (#[0-9a-f]{6});/g)];
  return new Map(variables.map(([, name = "", colour = ""]) => [name, colour]));
}

const surfaces = ["bg", "surface", "raised", "hover", "selected"];
const tones = ["good", "busy", "wait", "bad", "quiet"];
const pairs = [
  ...["text", "muted", "faint", "accent", ...tones].flatMap((text) => surfaces.map((under) => [text, under])),
  ...tones.map((tone) => [tone, `${tone}-bg`]),
];

test("contrast is measured as WCAG does", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.478, 3);
});

describe.each([
  ["light", ":root"],
  ["dark", '[data-mantine-color-scheme="dark"]'],
])("in the %s", (_, selector) => {
  const colours = coloursOf(selector);
  test.each(pairs)("%s on %s can be read", (text = "", under = "") => {
    const [one, other] = [colours.get(text), colours.get(under)];
    if (one === undefined || other === undefined) throw new Error(`ui.css has no colour ${text} or ${under}`);
    expect(contrast(one, other)).toBeGreaterThanOrEqual(least);
  });
});

// What is no text is seen at 3 to 1: the line around what has the focus, and the edge of a filter that is on or off.
test.each([
  [":root"],
  ['[data-mantine-color-scheme="dark"]'],
])("the focus and the edge of a filter are seen on each surface in %s", (selector) => {
  const colours = coloursOf(selector);
  for (const under of surfaces) {
    for (const line of ["accent", "edge"]) {
      const [one, surface] = [colours.get(line), colours.get(under)];
      if (one === undefined || surface === undefined) throw new Error(`ui.css has no colour ${line} or ${under}`);
      expect(contrast(one, surface), `${line} on ${under}`).toBeGreaterThanOrEqual(3);
    }
  }
  expect(css).toMatch(/^button\.u-chip \{ cursor: pointer; border-color: var\(--u-edge\); \}$/m);
  expect(css).toMatch(/^:focus-visible \{ outline: 2px solid var\(--u-accent\);/m);
});

test.each(["iris", "red"])("white letters on a filled %s button can be read, under the pointer too", (name) => {
  const shades = theme.colors?.[name];
  if (shades === undefined) throw new Error(`the theme has no ${name}`);
  for (const shade of [6, 7]) expect(contrast(shades[shade] ?? "", "#ffffff")).toBeGreaterThanOrEqual(least);
});

test("what an empty field says can be read", () => {
  expect(css).toMatch(/ --mantine-color-placeholder: var\(--u-faint\); \}$/m);
});

test("a field with an error has the colour of errors, and not a shade of red that the dark swallows", () => {
  expect(css).toMatch(/^:root\[data-mantine-color-scheme\] \{ --mantine-color-error: var\(--u-bad\);/m);
});
