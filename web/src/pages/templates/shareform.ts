import type { Schemas } from "../../api/client";
import type { Problem } from "../../api/problem";

export type Share = Schemas["ShareForm"];

export const emptyShare: Share = { label: "", paths: { "": "" }, sendReceive: [] };

/** filled is what a person filled in, without the fields that are empty. Then two forms that do the same are equal. */
export function filled(share: Share): Share {
  const tags = (all: string[] | undefined) => (all?.length ? all : undefined);
  const lines = share.ignores?.filter((line) => line.trim() !== "");
  const encrypted = tags(share.encrypted);
  const given = {
    folder: share.folder,
    encrypted,
    receiveOnly: tags(share.receiveOnly),
    sendOnly: tags(share.sendOnly),
    sendReceive: tags(share.sendReceive),
    hubs: tags(share.hubs),
    secret: encrypted && share.secret,
    versioning: share.versioning,
    ignores: tags(lines),
    keepFreePercent: share.keepFreePercent,
  };
  return {
    label: share.label,
    paths: Object.fromEntries(Object.entries(share.paths).filter(([, path]) => path !== "").sort()),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)),
  };
}

/** textOf is equal for two forms that do the same. */
export const textOf = (share: Share) => JSON.stringify(filled(share));

/** missing is what has to be filled in before a plan can be made, in words; "" where nothing is missing. */
export function missing(share: Share, hub: boolean): string {
  const { label, paths, encrypted, receiveOnly, sendOnly, sendReceive, hubs, secret } = filled(share);
  if (!label.trim()) return "Give the folder a name.";
  if (Object.keys(paths).length === 0) return "Say where the folder is.";
  if (!encrypted && !receiveOnly && !sendOnly && !sendReceive) return "Give a tag for at least one role.";
  if (encrypted && !secret) return "Choose the secret for the devices that get the folder encrypted.";
  return hub && !hubs ? "Give the tag of the hubs." : "";
}

const usualSystems = [
  { system: "windows", name: "On Windows", example: "D:\\Team" },
  { system: "darwin", name: "On macOS", example: "~/Documents/Team" },
  { system: "linux", name: "On Linux", example: "/srv/team" },
];

const systemNames: Record<string, string> = { freebsd: "FreeBSD", netbsd: "NetBSD", openbsd: "OpenBSD", solaris: "Solaris" };

/** systemsOf are the systems for which a form shows a path: the usual ones, and all others that it has a path for. */
export function systemsOf(paths: Share["paths"]): { system: string; name: string; example: string }[] {
  const isShown = (system: string) => system === "" || usualSystems.some((one) => one.system === system);
  const others = Object.keys(paths).filter((system) => !isShown(system)).sort();
  return [...usualSystems, ...others.map((system) => ({ system, name: `On ${systemNames[system] ?? system}`, example: "" }))];
}

/** wrongAt is the mistake that the server found in a field. */
export function wrongAt(problem: Problem | undefined, field: keyof Share): string | undefined {
  return problem?.errors.find((one) => one.field === `form.${field}`)?.message;
}

type Versioning = Schemas["VersioningForm"];

const day = 24 * 60 * 60;

/** versioningKinds are what a form offers, with the number that each takes. */
export const versioningKinds = [
  { value: "", label: "As each device has it" },
  { value: "trashcan", label: "Trash can", unit: "Days; 0 for ever", param: "cleanoutDays", usual: 30, factor: 1 },
  { value: "simple", label: "Simple", unit: "Versions of a file", param: "keep", usual: 5, factor: 1 },
  { value: "staggered", label: "Staggered", unit: "Days; 0 for ever", param: "maxAge", usual: 365, factor: day },
];

const kindOf = (type: string | undefined) => versioningKinds.find((one) => one.value === (type ?? ""));

/** versioningOf is a kind with its usual number. */
export function versioningOf(type: string): Versioning | undefined {
  const kind = kindOf(type);
  return kind?.param ? withNumber({ type }, kind.usual) : undefined;
}

/** withNumber is the versioning with another number. Its other parameters stay. */
export function withNumber(versioning: Versioning | undefined, number: number): Versioning | undefined {
  const kind = kindOf(versioning?.type);
  if (!versioning || !kind?.param) return versioning;
  return { ...versioning, params: { ...versioning.params, [kind.param]: String(number * kind.factor) } };
}

export function numberOf(versioning: Versioning | undefined): { unit: string; value: number } | undefined {
  const kind = kindOf(versioning?.type);
  if (!kind?.param || !versioning) return undefined;
  return { unit: kind.unit, value: Number(versioning.params?.[kind.param] ?? 0) / kind.factor };
}
