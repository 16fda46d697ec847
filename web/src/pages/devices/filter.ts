import type { InventoryDevice } from "../../api/inventory";
import { placeOf, worstFolder } from "../../ui/folderwords";
import { isTrouble } from "../waiting/troubles";
import { hasAll, searchable, wordsOf } from "../../ui/search";
import { compareVersions, versionIs } from "./version";

/** Filter is what the address of the devices page says: which rows, in which order. */
export interface Filter {
  q: string;
  tags: string[]; // all of them
  states: string[]; // a connection or a configuration; any of them
  versions: string[]; // any of them: a version, or one with <, <=, > or >= before it
  outdated: boolean; // older than the newest version that devices run
  systems: string[];
  folderStates: string[]; // any folder in any of them
  waiting: string; // a cause, any, or trouble
  staleDays: number; // not seen for so long; 0: whenever it was seen
  notInOrder: boolean; // in its configuration or in a folder
  sort: string;
  descending: boolean;
  differences: boolean; // instead of the table
  columns: string[]; // in the address, for those who get it; none: as each person has them
}

export function readFilter(params: URLSearchParams): Filter {
  const sort = params.get("sort") ?? "label";
  return {
    q: params.get("q") ?? "",
    tags: params.getAll("tag"),
    states: params.getAll("state"),
    versions: params.getAll("version"),
    outdated: params.get("outdated") === "true",
    systems: params.getAll("os"),
    folderStates: params.getAll("folderState"),
    waiting: params.get("waiting") ?? "",
    staleDays: Number(/^(\d+)d$/.exec(params.get("stale") ?? "")?.[1] ?? 0),
    notInOrder: params.get("order") === "no",
    sort: sort.replace(/^-/, ""),
    descending: sort.startsWith("-"),
    differences: params.get("view") === "differences",
    columns: (params.get("columns") ?? "").split(",").filter(Boolean),
  };
}

/** writeFilter leaves out what is as usual, so that addresses stay short. */
export function writeFilter(filter: Filter): URLSearchParams {
  const params = new URLSearchParams();
  if (filter.q) params.set("q", filter.q);
  for (const tag of filter.tags) params.append("tag", tag);
  for (const state of filter.states) params.append("state", state);
  for (const version of filter.versions) params.append("version", version);
  if (filter.outdated) params.set("outdated", "true");
  for (const system of filter.systems) params.append("os", system);
  for (const state of filter.folderStates) params.append("folderState", state);
  if (filter.waiting) params.set("waiting", filter.waiting);
  if (filter.staleDays) params.set("stale", `${filter.staleDays}d`);
  if (filter.notInOrder) params.set("order", "no");
  const sort = (filter.descending ? "-" : "") + filter.sort;
  if (sort !== "label") params.set("sort", sort);
  if (filter.differences) params.set("view", "differences");
  if (filter.columns.length > 0) params.set("columns", filter.columns.join(","));
  return params;
}

/** isFiltered tells whether the filter leaves out any row. */
export function isFiltered(filter: Filter): boolean {
  return writeFilter({ ...filter, sort: "label", descending: false, differences: false, columns: [] }).size > 0;
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

/** isInOrder tells of a device that has what its templates ask for, and all of its folders up to date. */
function isInOrder({ configuration, folders }: InventoryDevice): boolean {
  return configuration === "inSync" && (folders.upToDate ?? 0) === (folders.all ?? 0);
}

const placeOfFolders = ({ folders }: InventoryDevice) => placeOf(worstFolder(folders) ?? "upToDate");

const day = 86_400_000; // ms

/** isStale tells of a device that is not online, and was not seen for some days. */
function isStale({ connection, lastSeen }: InventoryDevice, days: number): boolean {
  return connection !== "online" && (!lastSeen || Date.now() - new Date(lastSeen).getTime() >= days * day);
}

/** isAsked tells whether a cause of waiting is one that a filter asks for: that one, any, or any trouble. */
function isAsked(cause: string, filter: string): boolean {
  return filter === "any" || cause === filter || (filter === "trouble" && isTrouble(cause));
}

/** picker tells which rows a filter picks. outdated are the versions that count as outdated. */
export function picker(filter: Filter, outdated: ReadonlySet<string>): (row: InventoryDevice) => boolean {
  const words = wordsOf(filter.q);
  return (row) =>
    filter.tags.every((tag) => row.tags.includes(tag)) &&
    (filter.states.length === 0 ||
      filter.states.includes(row.connection) ||
      filter.states.includes(row.configuration)) &&
    (filter.versions.length === 0 || filter.versions.some((asked) => versionIs(row.version, asked))) &&
    (!filter.outdated || outdated.has(row.version)) &&
    (filter.systems.length === 0 || filter.systems.includes(row.os)) &&
    (filter.folderStates.length === 0 || filter.folderStates.some((state) => (row.folders[state] ?? 0) > 0)) &&
    (filter.waiting === "" || row.waits.some((cause) => isAsked(cause, filter.waiting))) &&
    (filter.staleDays === 0 || isStale(row, filter.staleDays)) &&
    (!filter.notInOrder || !isInOrder(row)) &&
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
  version: (a, b) => compareVersions(a.version, b.version),
  os: (a, b) => collator.compare(a.os, b.os),
  folders: (a, b) => placeOfFolders(a) - placeOfFolders(b),
  need: (a, b) => a.needBytes - b.needBytes,
  disk: (a, b) => (a.diskFree ?? 101) - (b.diskFree ?? 101),
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
