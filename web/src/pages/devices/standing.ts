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
 * standing is how a device stands: a colour, and lines with the worst first. A folder in trouble comes before a device
 * that is in order or that Muster is busy with. What to do is never cut: its end may be what keeps files from being
 * deleted.
 */
export function standing(state: State, folder: string | undefined, troubles: string[]): { tone: Tone; lines: Line[] } {
  const isOnline = state.connection === "online";
  const badge = badgeOf(isOnline ? configurations : connections, isOnline ? state.configuration : state.connection);
  const ofFolder: Tone = folder !== undefined && folderStates[folder]?.tone === "bad" ? "bad" : "wait";
  const folderFirst = troubles.length > 0 && severity[ofFolder] > severity[badge.tone];
  const lines = [{ reason: sentence(state.reason || badge.word), next: sentence(state.next) }];
  if (state.folders?.reason) {
    const reason = `Folder ${brief(state.folders.folder, 60)}: ${brief(sentence(state.folders.reason), 300)}`;
    const line = { reason, next: sentence(state.folders.next) };
    if (folderFirst) lines.unshift(line);
    else lines.push(line);
  }
  return { tone: folderFirst ? ofFolder : badge.tone, lines };
}

const severity: Record<Tone, number> = { good: 0, quiet: 0, busy: 1, wait: 2, bad: 3 };
