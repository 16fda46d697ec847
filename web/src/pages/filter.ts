import type { InventoryDevice } from "../api/inventory";
import { hasAll, searchable, wordsOf } from "../ui/search";

/** Filter is what the address of the devices page says: which rows, in which order. */
export interface Filter {
  q: string;
  tags: string[]; // all of them
  states: string[]; // a connection or a configuration; any of them
  versions: string[];
  systems: string[];
  waiting: boolean;
  outOfSync: boolean; // in its configuration or in a folder
  sort: string;
  descending: boolean;
}

export function readFilter(params: URLSearchParams): Filter {
  const sort = params.get("sort") ?? "label";
  return {
    q: params.get("q") ?? "",
    tags: params.getAll("tag"),
    states: params.getAll("state"),
    versions: params.getAll("version"),
    systems: params.getAll("os"),
    waiting: params.get("waiting") === "any",
    outOfSync: params.get("sync") === "out",
    sort: sort.replace(/^-/, ""),
    descending: sort.startsWith("-"),
  };
}

/** writeFilter leaves out what is as usual, so that addresses stay short. */
export function writeFilter(filter: Filter): URLSearchParams {
  const params = new URLSearchParams();
  if (filter.q) params.set("q", filter.q);
  for (const tag of filter.tags) params.append("tag", tag);
  for (const state of filter.states) params.append("state", state);
  for (const version of filter.versions) params.append("version", version);
  for (const system of filter.systems) params.append("os", system);
  if (filter.waiting) params.set("waiting", "any");
  if (filter.outOfSync) params.set("sync", "out");
  const sort = (filter.descending ? "-" : "") + filter.sort;
  if (sort !== "label") params.set("sort", sort);
  return params;
}

/** isFiltered tells whether the filter leaves out any row. */
export function isFiltered(filter: Filter): boolean {
  return writeFilter({ ...filter, sort: "label", descending: false }).size > 0;
}

const texts = new WeakMap<InventoryDevice, string>(); // what a search finds; a row that changes is another object

function textOf(row: InventoryDevice): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = searchable([row.label, row.deviceID, row.address, ...row.tags]);
    texts.set(row, text);
  }
  return text;
}

/** isOutOfSync tells of a device that has not what its templates ask for, or lacks files of a folder. */
function isOutOfSync({ configuration, folders }: InventoryDevice): boolean {
  return configuration !== "inSync" || folders.outOfSync > 0 || folders.inError > 0;
}

/** picker tells which rows a filter picks. */
export function picker(filter: Filter): (row: InventoryDevice) => boolean {
  const words = wordsOf(filter.q);
  return (row) =>
    filter.tags.every((tag) => row.tags.includes(tag)) &&
    (filter.states.length === 0 ||
      filter.states.includes(row.connection) ||
      filter.states.includes(row.configuration)) &&
    (filter.versions.length === 0 || filter.versions.includes(row.version)) &&
    (filter.systems.length === 0 || filter.systems.includes(row.os)) &&
    (!filter.waiting || row.waits.length > 0) &&
    (!filter.outOfSync || isOutOfSync(row)) &&
    hasAll(words, textOf(row));
}

// What needs a person comes first.
const configurationOrder = [
  "failed",
  "contended",
  "unstable",
  "held",
  "pending",
  "applying",
  "unknown",
  "unmanaged",
  "inSync",
];
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

type Compare = (a: InventoryDevice, b: InventoryDevice) => number;

const byTime = (of: (row: InventoryDevice) => string | null): Compare => {
  return (a, b) => (of(a) ?? "").localeCompare(of(b) ?? "");
};

export const comparisons: Record<string, Compare> = {
  label: (a, b) => collator.compare(a.label, b.label),
  connection: (a, b) => collator.compare(a.connection, b.connection),
  configuration: (a, b) =>
    configurationOrder.indexOf(a.configuration) - configurationOrder.indexOf(b.configuration),
  since: byTime((row) => row.since),
  lastSeen: byTime((row) => row.lastSeen),
  version: (a, b) => collator.compare(a.version, b.version),
  os: (a, b) => collator.compare(a.os, b.os),
  folders: (a, b) => a.folders.outOfSync + a.folders.inError - (b.folders.outOfSync + b.folders.inError),
  need: (a, b) => a.needBytes - b.needBytes,
};

/** sorted gives all rows in the order of a filter; equal ones by label, then by ID. */
export function sorted(rows: InventoryDevice[], filter: Filter): InventoryDevice[] {
  const compare = comparisons[filter.sort] ?? comparisons.label;
  const sign = filter.descending ? -1 : 1;
  return [...rows].sort(
    (a, b) =>
      sign * (compare?.(a, b) ?? 0) || collator.compare(a.label, b.label) || a.deviceID.localeCompare(b.deviceID),
  );
}

/** counted says how many rows have each value, most first. */
export function counted(rows: InventoryDevice[], of: (row: InventoryDevice) => string[]): [value: string, n: number][] {
  const numbers = new Map<string, number>();
  for (const row of rows) for (const value of of(row)) numbers.set(value, (numbers.get(value) ?? 0) + 1);
  return [...numbers].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0]));
}
