import { useState } from "react";

/** keepOrder are the IDs of now in the order of before; new ones come last. */
export function keepOrder(before: string[], now: string[]): string[] {
  const there = new Set(now);
  const known = new Set(before);
  return [...before.filter((id) => there.has(id)), ...now.filter((id) => !known.has(id))];
}

/** useKeptOrder gives items in their own order, and in the order of before while isHeld: none moves below the pointer. */
export function useKeptOrder<T>(items: T[], id: (item: T) => string, isHeld: boolean): T[] {
  const [before, setBefore] = useState<string[]>([]);
  const own = items.map(id);
  const order = isHeld ? keepOrder(before, own) : own;
  if (order.length !== before.length || order.some((one, i) => one !== before[i])) setBefore(order);
  const byID = new Map(items.map((item) => [id(item), item]));
  return order.flatMap((one) => byID.get(one) ?? []);
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** sortedBy gives rows in the order of a number or text of each; equal ones stay as they were. */
export function sortedBy<T>(rows: T[], by: (row: T) => number | string, descending = false): T[] {
  const sign = descending ? -1 : 1;
  const compare = (a: number | string, b: number | string) =>
    typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  return [...rows].sort((a, b) => sign * compare(by(a), by(b)));
}
