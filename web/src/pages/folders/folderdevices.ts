import type { FolderDevicesQuery } from "../../api/queries";

/** devicesAtOnce is how many devices one page shows. */
export const devicesAtOnce = 50;

/** FolderFilter is what the address of a folder's page says: which of its devices show, in which order. */
export interface FolderFilter {
  q: string;
  tag: string;
  states: string[]; // any of them
  sort: string;
  descending: boolean;
}

const usual = "-state"; // the worst state first

export function readFolderFilter(params: URLSearchParams): FolderFilter {
  const sort = params.get("sort") ?? usual;
  return {
    q: params.get("q") ?? "",
    tag: params.get("tag") ?? "",
    states: params.getAll("state"),
    sort: sort.replace(/^-/, ""),
    descending: sort.startsWith("-"),
  };
}

/** writeFolderFilter leaves out what is as usual, so that addresses stay short. */
export function writeFolderFilter({ q, tag, states, sort, descending }: FolderFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (q) params.set("q", q);
  if (tag) params.set("tag", tag);
  for (const state of states) params.append("state", state);
  const order = (descending ? "-" : "") + sort;
  if (order !== usual) params.set("sort", order);
  return params;
}

/** isPicked tells whether the filter leaves out any device. */
export function isPicked({ q, tag, states }: FolderFilter): boolean {
  return q !== "" || tag !== "" || states.length > 0;
}

/** folderQuery is the question to the server for one page. A tag that no device has picks no device. */
export function folderQuery(filter: FolderFilter, after: string): FolderDevicesQuery {
  const { q, tag, states, sort, descending } = filter;
  const query = {
    ...(q ? { q } : {}),
    ...(tag ? { tag } : {}),
    ...(states.length > 0 ? { state: states } : {}),
    ...(after ? { after } : {}),
    sort: (descending ? "-" : "") + sort,
    limit: devicesAtOnce,
  };
  return query as FolderDevicesQuery; // a state or an order that the server does not know gets its own answer
}
