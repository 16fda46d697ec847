import type { Schemas } from "../../api/client";

export interface ConfiguredFolder {
  id: string;
  label: string;
  path: string;
  type: string;
  paused: boolean;
}

/** foldersOf reads the folders of an observed configuration, whatever else a daemon of another version has there. */
export function foldersOf(config: unknown): ConfiguredFolder[] {
  if (typeof config !== "object" || config === null || !("folders" in config) || !Array.isArray(config.folders)) return [];
  return config.folders.flatMap((folder: unknown) => {
    if (typeof folder !== "object" || folder === null || !("id" in folder) || typeof folder.id !== "string") return [];
    const text = (name: string) => {
      const value = (folder as Record<string, unknown>)[name];
      return typeof value === "string" ? value : "";
    };
    return [
      {
        id: folder.id,
        label: text("label"),
        path: text("path"),
        type: text("type"),
        paused: (folder as Record<string, unknown>).paused === true,
      },
    ];
  });
}

/** completion is how much of a folder a device has, in percent; 100 only when it needs nothing at all. */
export function completion(summary: Schemas["FolderSummary"]): number {
  const { globalBytes, needBytes, needFiles, needDirectories, needSymlinks, needDeletes } = summary;
  const items = needFiles + needDirectories + needSymlinks + needDeletes;
  if (needBytes <= 0 && items <= 0) return 100;
  if (globalBytes <= 0) return 99;
  return Math.max(0, Math.min(99, Math.floor(((globalBytes - needBytes) / globalBytes) * 100)));
}

export const folderTypes: Record<string, string> = {
  sendreceive: "Send and receive",
  sendonly: "Send only",
  receiveonly: "Receive only",
  receiveencrypted: "Receive encrypted",
};
