import { expect, test } from "vitest";
import { held, type FigurePoint } from "./figures";

const point = (second: number, needBytes: number): FigurePoint => ({
  at: new Date(second * 1000).toISOString(),
  devices: 3,
  upToDate: 2,
  needBytes,
  globalBytes: 9,
});

test("figures that hold for hours are no slope to the next ones", () => {
  const { at, values } = held([point(100, 0), point(5000, 700)], ({ needBytes }) => needBytes, new Date(9_000_000));
  expect(at).toEqual([99, 100, 4999, 5000, 9000]);
  expect(values).toEqual([0, 0, 0, 700, 700]);
});

test("moments grow, also where a clock was set back", () => {
  const { at, values } = held([point(100, 1), point(101, 2)], ({ needBytes }) => needBytes, new Date(50_000));
  expect(at).toEqual([99, 100, 101]);
  expect(values).toEqual([1, 1, 2]);
  expect(held([], ({ needBytes }) => needBytes, new Date())).toEqual({ at: [], values: [] });
});
