import type { Schemas } from "../../api/client";
import { tally } from "../../ui/folderwords";
import { plural } from "../../ui/format";

type Overview = Pick<
  Schemas["Overview"],
  "connections" | "devices" | "folders" | "impairments" | "stopCount" | "trouble" | "troubled"
>;

/** isCalm tells whether nothing is wrong, and nothing waits for a person: only then a page may say so. */
export function isCalm({ impairments, stopCount, trouble, troubled }: Overview, waiting: number): boolean {
  return waiting === 0 && trouble.length === 0 && troubled === 0 && impairments.length === 0 && stopCount === 0;
}

/** quietly says what is not as it should be, and not for so long that it is trouble: a laptop that is closed. */
export function quietly({ connections, devices, folders }: Overview): string[] {
  const away = devices - (connections.online ?? 0);
  const none = away === 1 ? "and not" : "and none of them";
  const others = tally({ ...folders, upToDate: 0 });
  return [
    ...(away > 0 ? [`${plural(away, "device is", "devices are")} not online, ${none} for longer than it may be.`] : []),
    ...(others ? [`Folders that are not up to date, and not for long: ${others}.`] : []),
  ];
}
