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

/** isTooMany tells whether a silence cannot name so many devices, so that it is of the whole kind. */
export const isTooMany = (devices: number) => devices > mostDevices;

const withoutDevice = ["enrollment", "rolloutHalted", "rolloutApproval", "impairment"];

/** isOfDevices tells whether what people are told of a cause names devices. A silence of devices fits nothing else. */
export const isOfDevices = (cause: string) => !withoutDevice.includes(cause);

/** channelBody is what is stored of a channel. A secret that was left blank stays as it is. */
export function channelBody(of: { type: string; address: string; secret: string }): Schemas["PutChannel"] {
  const type = of.type as Schemas["PutChannel"]["type"];
  if (type === "mail") return { type, to: of.address.trim() };
  return { type, url: of.address.trim(), ...(of.secret !== "" && { secret: of.secret }) };
}

/** silenceOf is the silence for a trouble: for its devices, or for its kind where there are too many. */
export function silenceOf(of: { cause: string; devices: string[]; tags: string[] }, hours: number, now: Date) {
  const { cause, devices, tags } = of;
  return {
    kinds: [cause] as Schemas["CreateSilence"]["kinds"],
    ...(tags.length > 0 ? { tags } : {}),
    ...(devices.length > 0 && !isTooMany(devices.length) ? { devices } : {}),
    until: new Date(now.getTime() + hours * 3_600_000).toISOString(),
  };
}

/** isTold tells whether people are told of a cause, so that it can be silenced. */
export const isTold = (cause: string) => (kinds as readonly string[]).includes(cause);
