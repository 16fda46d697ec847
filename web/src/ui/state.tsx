import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleMinus,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconClockPause,
  IconCopy,
  IconEyeOff,
  IconFileDiff,
  IconFingerprint,
  IconFolder,
  IconHandStop,
  IconHeartbeat,
  IconHelpCircle,
  IconHistory,
  IconKey,
  IconListCheck,
  IconPencilOff,
  IconPlayerPause,
  IconPlugConnected,
  IconPlugConnectedX,
  IconRefresh,
  IconRocket,
  IconRotate,
  IconSearch,
  IconShieldQuestion,
  IconTemplate,
  type Icon,
} from "@tabler/icons-react";
import type { ReactNode } from "react";
import { stopping } from "./stopping";
import { strokesOf } from "./strokes";

export type Tone = "good" | "busy" | "wait" | "bad" | "quiet";

export interface Badge {
  word: string;
  tone: Tone;
  icon: Icon;
}

/** What every state is called, with its icon. Colour never says anything alone. */
export const connections: Record<string, Badge> = {
  online: { word: "Online", tone: "good", icon: IconPlugConnected },
  unreachable: { word: "Unreachable", tone: "bad", icon: IconPlugConnectedX },
  neverSeen: { word: "Never reached", tone: "quiet", icon: IconCircleDashed },
  keyRefused: { word: "Key refused", tone: "bad", icon: IconKey },
  identityMismatch: { word: "Wrong identity", tone: "bad", icon: IconFingerprint },
  pinMismatch: { word: "Certificate changed", tone: "wait", icon: IconFingerprint },
  notFound: { word: "No address found", tone: "bad", icon: IconSearch },
  unconfirmed: { word: "Unconfirmed address", tone: "wait", icon: IconShieldQuestion },
  cloned: { word: "Cloned", tone: "bad", icon: IconCopy },
};

export const configurations: Record<string, Badge> = {
  inSync: { word: "In sync", tone: "good", icon: IconCircleCheck },
  pending: { word: "Pending", tone: "busy", icon: IconClock },
  applying: { word: "Applying", tone: "busy", icon: IconRefresh },
  held: { word: "Held", tone: "wait", icon: IconHandStop },
  contended: { word: "Contended", tone: "wait", icon: IconRotate },
  unstable: { word: "Unstable", tone: "wait", icon: IconRotate },
  failed: { word: "Failed", tone: "bad", icon: IconCircleX },
  unmanaged: { word: "Unmanaged", tone: "quiet", icon: IconEyeOff },
  unknown: { word: "Unknown", tone: "quiet", icon: IconHelpCircle },
};

export const rollouts: Record<string, Badge> = {
  waiting: { word: "Needs approval", tone: "wait", icon: IconHandStop },
  running: { word: "Running", tone: "busy", icon: IconRefresh },
  paused: { word: "Paused", tone: "wait", icon: IconPlayerPause },
  halted: { word: "Halted", tone: "bad", icon: IconAlertTriangle },
  undone: { word: "Undone", tone: "quiet", icon: IconRotate },
  succeeded: { word: "Succeeded", tone: "good", icon: IconCircleCheck },
  superseded: { word: "Superseded", tone: "quiet", icon: IconClockPause },
};

export const members: Record<string, Badge> = {
  later: { word: "Later", tone: "quiet", icon: IconClock },
  absent: { word: "Not reachable", tone: "quiet", icon: IconPlugConnectedX },
  admitted: { word: "Under way", tone: "busy", icon: IconRefresh },
  held: { word: "Held", tone: "wait", icon: IconHandStop },
  good: { word: "Done", tone: "good", icon: IconCircleCheck },
  failed: { word: "Failed", tone: "bad", icon: IconCircleX },
};

/** formerMembers are those of a rollout that is over: nothing of it is under way any more. */
export const formerMembers: Record<string, Badge> = {
  ...members,
  later: { word: "Not reached", tone: "quiet", icon: IconCircleMinus },
  admitted: { word: "Was admitted", tone: "quiet", icon: IconHistory },
};

export const classes: Record<string, Badge> = {
  free: { word: "Is applied", tone: "busy", icon: IconRefresh },
  implied: { word: "Comes with another change", tone: "busy", icon: IconRefresh },
  skipped: { word: "Skipped", tone: "quiet", icon: IconEyeOff },
  held: { word: "Held", tone: "wait", icon: IconHandStop },
  refused: { word: "Refused", tone: "bad", icon: IconCircleX },
};

export const modes: Record<string, Badge> = {
  on: { word: "On", tone: "good", icon: IconCircleCheck },
  observe: { word: stopping.observe.state, tone: "wait", icon: IconPencilOff },
  paused: { word: stopping.paused.state, tone: "wait", icon: IconEyeOff },
};

export const orders: Record<string, Badge> = {
  running: { word: "Under way", tone: "busy", icon: IconRefresh },
  done: { word: "Done", tone: "good", icon: IconCircleCheck },
  failed: { word: "Failed", tone: "bad", icon: IconCircleX },
  interrupted: { word: "Interrupted", tone: "wait", icon: IconAlertTriangle },
};

/** logIns are how a person logs in. */
export const logIns: Record<string, Badge> = {
  password: { word: "Password", tone: "quiet", icon: IconKey },
  signOn: { word: "Single sign-on", tone: "quiet", icon: IconFingerprint },
  none: { word: "Nothing yet", tone: "wait", icon: IconCircleDashed },
  disabled: { word: "Disabled", tone: "bad", icon: IconHandStop },
};

export const enrollKeys: Record<string, Badge> = {
  usable: { word: "Usable", tone: "good", icon: IconKey },
  expired: { word: "Ended", tone: "quiet", icon: IconClock },
  usedUp: { word: "Used up", tone: "quiet", icon: IconCircleCheck },
  altered: { word: "Altered in the database", tone: "bad", icon: IconAlertTriangle },
  stopped: { word: "Stopped by the settings", tone: "quiet", icon: IconHandStop },
};

/** events are the types of what happens, and the kinds of what is kept of it. */
export const events: Record<string, Badge> = {
  device: { word: "Device", tone: "busy", icon: IconPlugConnected },
  status: { word: "Status", tone: "quiet", icon: IconHeartbeat },
  folder: { word: "Folder", tone: "quiet", icon: IconFolder },
  config: { word: "Configuration", tone: "busy", icon: IconFileDiff },
  plan: { word: "Plan", tone: "busy", icon: IconListCheck },
  rollout: { word: "Rollout", tone: "busy", icon: IconRocket },
  pending: { word: "Asks to be let in", tone: "wait", icon: IconHandStop },
  template: { word: "Template", tone: "busy", icon: IconTemplate },
  connection: { word: "Connection", tone: "busy", icon: IconPlugConnected },
  configuration: { word: "Configuration", tone: "busy", icon: IconFileDiff },
  revision: { word: "Revision", tone: "quiet", icon: IconHistory },
  conflict: { word: "Conflict", tone: "wait", icon: IconAlertTriangle },
  peers: { word: "Peers", tone: "quiet", icon: IconPlugConnectedX },
  order: { word: "Order", tone: "busy", icon: IconListCheck },
  missed: { word: "Missed", tone: "wait", icon: IconAlertTriangle },
};

/** badgeOf tolerates a state that this console does not know yet: its own name is shown. */
export function badgeOf(badges: Record<string, Badge>, state: string): Badge {
  return badges[state] ?? { word: state || "Unknown", tone: "quiet", icon: IconHelpCircle };
}

const signs = new Map<Icon, ReactNode>();

/** signOf is the picture of a badge in one path; the same element for each place where it shows. */
function signOf(icon: Icon): ReactNode {
  const known = signs.get(icon);
  if (known) return known;
  const sign = (
    <svg className="u-glyph" viewBox="0 0 24 24" aria-hidden>
      <path d={strokesOf(icon).join("")} />
    </svg>
  );
  signs.set(icon, sign);
  return sign;
}

export function State({
  badges,
  state,
  filled,
  hint,
}: {
  badges: Record<string, Badge>;
  state: string;
  filled?: boolean;
  hint?: string;
}) {
  const { word, tone, icon } = badgeOf(badges, state);
  return (
    <span className="u-state" data-tone={tone} data-filled={filled || undefined} data-hint={hint ? hint.slice(0, 400) : undefined}>
      {signOf(icon)}
      {word}
    </span>
  );
}

/** Share is the state of a cell: its icon and a short text; the word shows on hover, and is read aloud. */
export function Share({ badge, text, hint }: { badge: Badge; text: string; hint: string }) {
  const { word, tone, icon } = badge;
  return (
    <span className="u-state" data-tone={tone} data-hint={[word, hint].filter(Boolean).join(", ")}>
      {signOf(icon)}
      <span className="u-skip">{word}</span>
      {text}
    </span>
  );
}
