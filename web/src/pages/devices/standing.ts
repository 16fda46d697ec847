import type { Schemas } from "../../api/client";
import { folderStates } from "../../ui/folderwords";
import { brief, sentence } from "../../ui/format";
import { badgeOf, configurations, connections, type Tone } from "../../ui/state";

type State = Pick<Schemas["DeviceState"], "connection" | "configuration" | "reason" | "next" | "folders">;

interface Line {
  reason: string;
  next: string;
}

/**
 * standing is how a device stands: a colour, and lines with the worst first. Folders in trouble come before a
 * configuration that is in sync. What to do is never cut: its end may be what keeps files from being deleted.
 */
export function standing(state: State, folder: string | undefined, troubles: string[]): { tone: Tone; lines: Line[] } {
  const isOnline = state.connection === "online";
  const badge = badgeOf(isOnline ? configurations : connections, isOnline ? state.configuration : state.connection);
  const device = { reason: sentence(state.reason || badge.word), next: sentence(state.next) };
  const lines = [device];
  if (state.folders?.reason) {
    const reason = `Folder ${brief(state.folders.folder, 60)}: ${brief(sentence(state.folders.reason), 300)}`;
    const line = { reason, next: sentence(state.folders.next) };
    if (badge.tone === "good" && troubles.length > 0) lines.unshift(line);
    else lines.push(line);
  }
  if (badge.tone !== "good" || troubles.length === 0) return { tone: badge.tone, lines };
  return { tone: folder !== undefined && folderStates[folder]?.tone === "bad" ? "bad" : "wait", lines };
}
