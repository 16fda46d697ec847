import type { Schemas } from "../../api/client";
import { plural } from "../../ui/format";
import { stopping } from "../../ui/stopping";

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
  if (action.shown) return [withShown(request({}), shownOf(devices))];
  return action.each ? devices.map((device) => request(device.values)) : [request(devices[0]?.values ?? {})];
}

/** shownOf identifies the held changes of devices that were shown; one whose values are too large to be shown has no digest. */
export function shownOf(devices: Schemas["WaitingDevice"][]): Schemas["ShownChange"][] {
  return devices.flatMap(({ held }) =>
    held.filter(({ digest }) => digest !== "").map(({ deviceID, digest }) => ({ deviceID, digest })),
  );
}

function withShown(request: Request, shown: Schemas["ShownChange"][]): Request {
  return { ...request, body: { ...(request.body as object), shown } };
}

/** afterAnswer says what an answer was recorded for, and how many devices of the group wait on. */
export function afterAnswer(answered: Schemas["AnsweredConsents"]): string {
  const waiting = new Set(answered.waiting.map(({ deviceID }) => deviceID)).size;
  const said = [`Answered for ${plural(answered.devices.length, "device")}.`];
  if (answered.rollout > 0) {
    said.push(`${plural(answered.notShown, "member")} of rollout ${answered.rollout} that were not shown use it too.`);
  }
  if (waiting > 0) said.push(`${plural(waiting, "device")} joined or changed meanwhile, and ${waiting === 1 ? "waits" : "wait"}.`);
  if (answered.gone.length > 0) {
    const ids = answered.gone.map((id) => id.slice(0, 7)).join(", ");
    said.push(`Deleted meanwhile, and not answered for: ${ids}.`);
  }
  return said.join(" ");
}

/** commandOf is what to type for the same; "" where a value is missing, or each of several devices needs a line. */
export function commandOf(
  group: Pick<Schemas["WaitingGroup"], "devices" | "deviceCount">,
  action: Action,
  answers: Values,
): string {
  const values: Values = { ...group.devices[0]?.values, ...answers };
  const names = [...action.command.matchAll(placeholder)].map(([, name]) => name ?? "");
  if (names.some((name) => !values[name]) || (names.length > 0 && group.deviceCount !== 1)) return "";
  return action.command.replace(placeholder, (_, name: string) => shellArgument(valueOf(name, values)));
}

/** shellArgument is a value as shells take it. */
function shellArgument(value: string): string {
  return /^[\w\-./:,@=+]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

/** verbOf is what the button of an action says. */
export function verbOf(action: Action): string {
  if (action.choice) {
    const { name } = action.choice;
    return action.name === "valueRollout" ? `${name} in the whole rollout` : name;
  }
  return verbs[action.name] ?? action.name;
}

const verbs: Record<string, string> = {
  consent: "Consent",
  keep: "Keep what is there",
  consentRollout: "Consent for the whole rollout",
  keepRollout: "Keep it in the whole rollout",
  trust: "Trust the certificate",
  accept: "Let in",
  dismiss: "Dismiss",
  apply: "Apply again",
  approve: "Approve",
  resume: "Resume",
  undo: "Undo",
  halt: "Halt",
  on: stopping.observe.back,
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
  broughtBack: "A revoked device was brought back",
  trouble: "In trouble",
  unreachable: "Unreachable",
  stale: "Not seen for long",
  folderStopped: "A folder stopped",
  driveMissing: "A drive is missing",
  diskNearlyFull: "A disk is nearly full",
  atRisk: "Data is on too few other devices",
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

/** aboutOne are the causes that are one thing, on however many devices. */
const aboutOne = new Set(["rolloutHalted", "rolloutPaused", "rolloutApproval", "stop", "impairment", "receiver"]);

/**
 * thingsIn counts what waits: a cause on ten devices is ten things, a rollout over ten devices is one. Trouble of folders
 * counts each folder on each device.
 */
export function thingsIn(
  groups: Pick<Schemas["WaitingGroup"], "cause" | "deviceCount">[],
  troubles: Pick<Schemas["Trouble"], "devices" | "folders">[],
): number {
  const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);
  return (
    sum(groups.map(({ cause, deviceCount }) => (aboutOne.has(cause) ? 1 : Math.max(1, deviceCount)))) +
    sum(troubles.map(({ devices, folders }) => folders || devices))
  );
}
