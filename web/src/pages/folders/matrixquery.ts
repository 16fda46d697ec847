import type { Schemas } from "../../api/client";
import type { FolderMatrixQuery } from "../../api/queries";

export const devicesOfMatrix = 20; // columns that show at once
export const foldersOfMatrix = 25; // rows that show at once

export const mostDevices = 60; // columns of one answer
export const mostFolders = 500; // rows of one answer

/** MatrixFilter is what the address of the matrix says: which devices and folders show, and from where on. */
export interface MatrixFilter {
  q: string;
  tag: string;
  states: string[]; // a device has a folder in any of them
  folder: string; // text in the ID or label of a folder
  sort: string; // of the devices
  from: number; // devices before the ones that show
  fromFolder: number;
}

const position = (text: string | null) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : 0);

export function readMatrixFilter(params: URLSearchParams): MatrixFilter {
  return {
    q: params.get("q") ?? "",
    tag: params.get("tag") ?? "",
    states: params.getAll("folderState"),
    folder: params.get("folder") ?? "",
    sort: params.get("sort") ?? "label",
    from: position(params.get("from")),
    fromFolder: position(params.get("fromFolder")),
  };
}

/** writeMatrixFilter leaves out what is as usual, so that addresses stay short. */
export function writeMatrixFilter({ q, tag, states, folder, sort, from, fromFolder }: MatrixFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (q) params.set("q", q);
  if (tag) params.set("tag", tag);
  for (const state of states) params.append("folderState", state);
  if (folder) params.set("folder", folder);
  if (sort !== "label") params.set("sort", sort);
  if (from) params.set("from", String(from));
  if (fromFolder) params.set("fromFolder", String(fromFolder));
  return params;
}

/** matrixQuery is the question to the server for the part that shows. A tag that no device has picks no device. */
export function matrixQuery(filter: MatrixFilter): FolderMatrixQuery {
  const { q, tag, states, folder, sort, from, fromFolder } = filter;
  const query = {
    ...(q ? { q } : {}),
    ...(tag ? { tag: [tag] } : {}),
    ...(states.length > 0 ? { folderState: states } : {}),
    ...(folder ? { folder } : {}),
    ...(sort !== "label" ? { sort } : {}),
    ...(from ? { offset: from } : {}),
    ...(fromFolder ? { folderOffset: fromFolder } : {}),
    limit: devicesOfMatrix,
    folderLimit: foldersOfMatrix,
  };
  return query as FolderMatrixQuery; // a state or an order that the server does not know gets its own answer
}

/** cellsOf has one row for each folder on each device of an answer. */
export function cellsOf({ devices, folders }: Pick<Schemas["FolderMatrix"], "devices" | "folders">): object[] {
  return folders.flatMap(({ folder, label, cells }) =>
    cells.map(({ device, state, completion, needBytes }) => ({
      folder,
      folderLabel: label,
      deviceID: devices[device]?.deviceID ?? "",
      label: devices[device]?.label ?? "",
      connection: devices[device]?.connection ?? "",
      state,
      completion,
      needBytes,
    })),
  );
}
