import type { Schemas } from "../../api/client";

/** channelTypes are the forms in which channels get messages, with their names. */
export const channelTypes: Record<string, string> = {
  webhook: "Webhook",
  mail: "Mail",
  slack: "Slack",
  teams: "Microsoft Teams",
  discord: "Discord",
  ntfy: "ntfy",
  pagerduty: "PagerDuty",
  alertmanager: "Alertmanager",
};

export const severities = ["critical", "warning", "info"] as const;

/** kinds are what people are told of. */
export const kinds = [
  ...["unreachable", "stale", "folderStopped", "driveMissing", "diskNearlyFull", "atRisk", "failedItems", "stalled", "alone"],
  ...["disagree", "outOfSync", "localChanges", "conflicts", "failed", "held", "contended", "unstable", "keyRefused"],
  ...["pinMismatch", "identityMismatch", "unconfirmed", "cloned", "broughtBack", "enrollment", "rolloutHalted"],
  ...["rolloutApproval", "impairment"],
] as const;

/** addressOf is where messages of a channel go, as far as it is shown. */
export function addressOf(channel: Pick<Schemas["Channel"], "type" | "to" | "host">): string {
  if (channel.type === "default") return "the receivers of flags and settings";
  return channel.to || channel.host;
}

/** inWords says which problems are chosen. */
export function inWords(match: Pick<Schemas["Route"], "tags" | "kinds" | "severities" | "folders" | "devices">): string {
  const parts = (
    [
      ["tag", match.tags],
      ["kind", match.kinds],
      ["severity", match.severities],
      ["folder", match.folders],
      ["device", match.devices],
    ] as const
  ).filter(([, all]) => all.length > 0);
  return parts.map(([name, all]) => `${name} ${all.join(" or ")}`).join(", ") || "everything";
}

const mostDevices = 100; // that a silence names

/** silenceOf is the silence for a trouble: for its devices, or for its kind where there are too many. */
export function silenceOf(of: { cause: string; devices: string[]; tags: string[] }, hours: number, now: Date) {
  const { cause, devices, tags } = of;
  return {
    kinds: [cause] as Schemas["CreateSilence"]["kinds"],
    ...(tags.length > 0 ? { tags } : {}),
    ...(devices.length > 0 && devices.length <= mostDevices ? { devices } : {}),
    until: new Date(now.getTime() + hours * 3_600_000).toISOString(),
  };
}

/** isTold tells whether people are told of a cause, so that it can be silenced. */
export const isTold = (cause: string) => (kinds as readonly string[]).includes(cause);
