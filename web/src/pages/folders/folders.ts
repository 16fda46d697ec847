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

export const folderTypes: Record<string, string> = {
  sendreceive: "Send and receive",
  sendonly: "Send only",
  receiveonly: "Receive only",
  receiveencrypted: "Receive encrypted",
};

/** filePage is the address of the page about one file of a folder. */
export function filePage(folder: string, path: string): string {
  return `/folders/${encodeURIComponent(folder)}/file?path=${encodeURIComponent(path)}`;
}
