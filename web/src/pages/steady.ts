import { useMemo, useState } from "react";
import type { InventoryDevice } from "../api/inventory";
import { picker, sorted, writeFilter, type Filter } from "./filter";

interface Steady {
  sort: string; // and the number of devices: what the order depends on
  filter: string; // what the picked rows depend on besides
  all: string[]; // IDs of all devices, in order
  picked: string[];
}

/**
 * useSteadyRows gives the rows in the order in which they were when the sorting or the number of devices changed last:
 * what events change shows in its row, and no row moves below the pointer. While one types nothing is sorted.
 */
export function useSteadyRows(data: InventoryDevice[] | undefined, filter: Filter): InventoryDevice[] {
  const byID = useMemo(() => new Map((data ?? []).map((row) => [row.deviceID, row])), [data]);
  const [steady, setSteady] = useState<Steady>();
  const sort = `${filter.descending ? "-" : ""}${filter.sort} ${byID.size}`;
  const key = `${sort} ${writeFilter(filter).toString()}`;
  let now = steady;
  if (data && now?.filter !== key) {
    const all = now?.sort === sort ? now.all : sorted(data, filter).map((row) => row.deviceID);
    now = { sort, filter: key, all, picked: rowsOf(byID, all).filter(picker(filter)).map((row) => row.deviceID) };
    setSteady(now);
  }
  const picked = now?.picked;
  return useMemo(() => rowsOf(byID, picked ?? []), [byID, picked]);
}

function rowsOf(byID: ReadonlyMap<string, InventoryDevice>, ids: string[]): InventoryDevice[] {
  const rows: InventoryDevice[] = [];
  for (const id of ids) {
    const row = byID.get(id);
    if (row) rows.push(row);
  }
  return rows;
}
