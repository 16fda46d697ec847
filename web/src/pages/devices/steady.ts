import { useMemo, useState } from "react";
import type { InventoryDevice } from "../../api/inventory";
import { keepOrder } from "../../ui/order";
import { picker, sorted, writeFilter, type Filter } from "./filter";

interface Steady {
  sort: string; // what the order depends on, with size
  filter: string; // what the picked rows depend on, with size
  size: number; // devices
  all: string[]; // IDs of all devices, in order
  picked: string[];
  isHeld: boolean; // devices came while the pointer was over the table: they are last, until it leaves
}

/**
 * useSteadyRows gives the rows in the order in which they were when the sorting or the number of devices changed last:
 * what events change shows in its row. No row moves below the pointer: while isOver, devices that come are last.
 * While one types nothing is sorted.
 */
export function useSteadyRows(
  data: InventoryDevice[] | undefined,
  filter: Filter,
  isOver: boolean,
  outdated: ReadonlySet<string>,
): InventoryDevice[] {
  const byID = useMemo(() => new Map((data ?? []).map((row) => [row.deviceID, row])), [data]);
  const [steady, setSteady] = useState<Steady>();
  const sort = `${filter.descending ? "-" : ""}${filter.sort}`;
  const key = [sort, writeFilter(filter).toString(), ...(filter.outdated ? outdated : [])].join(" ");
  let now = steady;
  const isAsked = now?.filter === key;
  if (data && now && isAsked && isOver && now.size !== byID.size) {
    now = withNew(now, byID, picker(filter, outdated));
    setSteady(now);
  } else if (data && (!isAsked || now?.size !== byID.size || (now.isHeld && !isOver))) {
    const isSorted = now?.sort === sort && now.size === byID.size && !now.isHeld;
    const all = isSorted && now ? now.all : sorted(data, filter).map((row) => row.deviceID);
    const picked = rowsOf(byID, all).filter(picker(filter, outdated)).map((row) => row.deviceID);
    now = { sort, filter: key, size: byID.size, all, picked, isHeld: false };
    setSteady(now);
  }
  const picked = now?.picked;
  return useMemo(() => rowsOf(byID, picked ?? []), [byID, picked]);
}

/** withNew leaves each row where it is, and puts what came last. */
function withNew(
  before: Steady,
  byID: ReadonlyMap<string, InventoryDevice>,
  picks: (row: InventoryDevice) => boolean,
): Steady {
  const known = new Set(before.all);
  const all = keepOrder(before.all, [...byID.keys()]);
  const came = rowsOf(byID, all.filter((id) => !known.has(id))).filter(picks);
  const picked = [...before.picked.filter((id) => byID.has(id)), ...came.map((row) => row.deviceID)];
  return { ...before, size: byID.size, all, picked, isHeld: true };
}

function rowsOf(byID: ReadonlyMap<string, InventoryDevice>, ids: string[]): InventoryDevice[] {
  const rows: InventoryDevice[] = [];
  for (const id of ids) {
    const row = byID.get(id);
    if (row) rows.push(row);
  }
  return rows;
}
