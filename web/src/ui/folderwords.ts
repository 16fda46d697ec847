import {
  IconAlertTriangle,
  IconArrowsDiff,
  IconArrowsSplit2,
  IconCircleCheck,
  IconCircleX,
  IconClockPause,
  IconDatabaseExclamation,
  IconDatabaseOff,
  IconFileDiff,
  IconHelpCircle,
  IconHourglass,
  IconPlayerPause,
  IconRefresh,
  IconScan,
  IconShareOff,
  IconUser,
} from "@tabler/icons-react";
import { count } from "./format";
import type { Badge } from "./state";

export interface FolderBadge extends Badge {
  meaning: string;
}

/** folderStates are how a folder is on a device, or in the fleet, the worst first. Only one of them is green. */
export const folderStates: Record<string, FolderBadge> = {
  stopped: {
    ...{ word: "Stopped", tone: "bad", icon: IconCircleX },
    meaning: "The daemon cannot go on with this folder: nothing is sent or received.",
  },
  driveMissing: {
    ...{ word: "Drive missing", tone: "bad", icon: IconDatabaseOff },
    meaning: "The folder's path or marker is not there, as the device's agent says. The daemon may not have noticed yet.",
  },
  diskNearlyFull: {
    ...{ word: "Disk nearly full", tone: "wait", icon: IconDatabaseExclamation },
    meaning: "Nothing is missing, and the folder's disk has hardly any room left, as the device's agent says.",
  },
  failedItems: {
    ...{ word: "Failed items", tone: "bad", icon: IconAlertTriangle },
    meaning: "Some files cannot be synced. The others are.",
  },
  stalled: {
    ...{ word: "Stalled", tone: "wait", icon: IconClockPause },
    meaning: "Something is missing, a connected device has it, and nothing moves.",
  },
  disagree: {
    ...{ word: "Disagree", tone: "wait", icon: IconArrowsDiff },
    meaning: "The devices count different files, and nothing moves.",
  },
  alone: {
    ...{ word: "Alone", tone: "wait", icon: IconUser },
    meaning: "No device that shares this folder is connected: nobody can tell whether it is complete.",
  },
  outOfSync: {
    ...{ word: "Out of sync", tone: "wait", icon: IconRefresh },
    meaning: "A send-only folder: the other devices have something else.",
  },
  localChanges: {
    ...{ word: "Local changes", tone: "wait", icon: IconFileDiff },
    meaning: "A receive-only folder: files were changed on this device, and are not sent.",
  },
  conflicts: {
    ...{ word: "Conflicts", tone: "wait", icon: IconArrowsSplit2 },
    meaning: "Nothing is missing. Files were changed on two devices at once, and both versions are kept.",
  },
  behind: {
    ...{ word: "Behind", tone: "busy", icon: IconHourglass },
    meaning: "Something is missing, and no connected device is known to have it.",
  },
  unknown: {
    ...{ word: "Unknown", tone: "quiet", icon: IconHelpCircle },
    meaning: "The daemon is not online, or has not told of this folder since it is.",
  },
  paused: {
    ...{ word: "Paused", tone: "quiet", icon: IconPlayerPause },
    meaning: "Nothing is sent or received until somebody resumes it.",
  },
  unshared: {
    ...{ word: "Unshared", tone: "quiet", icon: IconShareOff },
    meaning: "The device shares this folder with no other.",
  },
  syncing: {
    ...{ word: "Syncing", tone: "busy", icon: IconRefresh },
    meaning: "Something is missing, and comes.",
  },
  scanning: {
    ...{ word: "Scanning", tone: "busy", icon: IconScan },
    meaning: "The daemon reads its disk to find what changed.",
  },
  upToDate: {
    ...{ word: "Up to date", tone: "good", icon: IconCircleCheck },
    meaning: "Nothing is missing, as the daemon says now.",
  },
};

const order = Object.keys(folderStates);

/** placeOf is the place of a state among all of them, the worst first; one that is not known yet is the worst. */
export function placeOf(state: string): number {
  return order.indexOf(state);
}

/** worstFolder is the worst state that any folder is in; undefined where there is none. */
export function worstFolder(counts: Readonly<Record<string, number>>): string | undefined {
  return order.find((state) => (counts[state] ?? 0) > 0);
}

/** tally says how many are in each state, the worst first: 3 stopped, 12 up to date. */
export function tally(counts: Readonly<Record<string, number>>): string {
  const states = Object.entries(folderStates).filter(([state]) => (counts[state] ?? 0) > 0);
  return states.map(([state, { word }]) => `${count(counts[state] ?? 0)} ${word.toLowerCase()}`).join(", ");
}
