import type { Schemas } from "../../api/client";

export type FigurePoint = Schemas["FolderHistoryPoint"];

/** Series are moments in seconds, which grow, and a value for each. */
export interface Series {
  at: number[];
  values: number[];
}

/** held has the values of points as they held: each until the next point, and the last one until now. */
export function held(points: FigurePoint[], of: (point: FigurePoint) => number, now: Date): Series {
  const series: Series = { at: [], values: [] };
  const add = (second: number, value: number) => {
    if (second <= (series.at.at(-1) ?? -Infinity)) return;
    series.at.push(second);
    series.values.push(value);
  };
  for (const point of points) {
    const second = new Date(point.at).getTime() / 1000;
    add(second - 1, series.values.at(-1) ?? of(point));
    add(second, of(point));
  }
  add(now.getTime() / 1000, series.values.at(-1) ?? 0);
  return points.length === 0 ? { at: [], values: [] } : series;
}
