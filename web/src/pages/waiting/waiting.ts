import type { Schemas } from "../../api/client";

type Action = Schemas["WaitingAction"];
type Values = Readonly<Record<string, string>>;

const placeholder = /\{(\w+)\}/g;

/** filledPath puts values in the place of the placeholders of a path, encoded. A value that is missing is an error. */
export function filledPath(path: string, values: Values): string {
  return path.replace(placeholder, (_, name: string) => encodeURIComponent(valueOf(name, values)));
}

/** filledBody puts values in the place of the placeholders of every text of a body. */
export function filledBody(body: unknown, values: Values): unknown {
  if (typeof body === "string") return body.replace(placeholder, (_, name: string) => valueOf(name, values));
  if (Array.isArray(body)) return body.map((one: unknown) => filledBody(one, values));
  if (typeof body === "object" && body !== null) {
    return Object.fromEntries(Object.entries(body).map(([name, one]) => [name, filledBody(one, values)]));
  }
  return body;
}

function valueOf(name: string, values: Values): string {
  const value = values[name];
  if (value === undefined) throw new Error(`there is no value for ${name}; load the page again`);
  return value;
}

export interface Request {
  method: Action["method"];
  path: string;
  body: unknown;
}

/** requestsOf are the requests that an action stands for: one for each device, or one for the group. */
export function requestsOf(action: Action, devices: Schemas["WaitingDevice"][], answers: Values): Request[] {
  const request = (values: Values) => ({
    method: action.method,
    path: filledPath(action.path, { ...values, ...answers }),
    body: filledBody(action.body, { ...values, ...answers }),
  });
  return action.each ? devices.map((device) => request(device.values)) : [request(devices[0]?.values ?? {})];
}

/** verbs are what buttons say. */
export const verbs: Record<string, string> = {
  consent: "Consent",
  keep: "Keep what is there",
  trust: "Trust the certificate",
  accept: "Let in",
  dismiss: "Dismiss",
  apply: "Apply again",
  approve: "Approve",
  resume: "Go on",
  undo: "Undo",
  halt: "Halt",
  on: "Write again",
  reject: "Reject",
};

/** titles say in a few words what waits. */
export const titles: Record<string, string> = {
  held: "Held until a person consents",
  failed: "Failed",
  contended: "Somebody keeps setting it back",
  unstable: "The result keeps alternating",
  pinMismatch: "Another certificate is shown",
  identityMismatch: "Another device answers",
  keyRefused: "The API key is refused",
  unconfirmed: "An address nobody has confirmed",
  trouble: "In trouble",
  unreachable: "Unreachable",
  folderStopped: "A folder stopped",
  driveMissing: "A drive is missing",
  diskNearlyFull: "A disk is nearly full",
  failedItems: "Items failed",
  stalled: "A folder is stalled",
  alone: "A folder is alone",
  disagree: "Devices disagree",
  outOfSync: "A folder is out of sync",
  localChanges: "Local changes",
  conflicts: "Conflicts",
  pendingDevice: "A device asks to be let in",
  pendingFolder: "A folder is offered",
  enrollment: "An agent asks to be accepted",
  rolloutHalted: "A rollout halted",
  rolloutPaused: "A rollout is paused",
  rolloutApproval: "A rollout needs approval",
  stop: "Muster does not write",
  impairment: "A part of the service does not work",
  receiver: "Messages are not delivered",
};
