/** What makes the changes of plans readable: values as text, devices by label, equal changes in one group. */

export interface ChangeLike {
  key: string;
  from: unknown;
  to: unknown;
  class?: string;
  consented?: boolean;
  reason?: string;
}

/** valueText writes a value of a configuration for a person. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "not set";
  if (typeof value === "string") return value === "" ? '""' : value;
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value) && value.length === 0) return "empty list";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(valueText).join(", ");
  return JSON.stringify(value, null, 2);
}

/** isLarge tells whether a value needs lines of its own. */
export function isLarge(value: unknown): boolean {
  return valueText(value).length > 80 || valueText(value).includes("\n");
}

const deviceID = /[A-Z2-7]{7}(?:-[A-Z2-7]{7}){7}/g;

/** withLabels puts labels in the place of device IDs. */
export function withLabels(text: string, labels: ReadonlyMap<string, string>): string {
  return text.replace(deviceID, (id) => labels.get(id) || id.slice(0, 7));
}

/** withIDs shortens device IDs in a value and adds labels: a label alone would stand where the daemon has an ID. */
export function withIDs(text: string, labels: ReadonlyMap<string, string>): string {
  return text.replace(deviceID, (id) => id.slice(0, 7) + (labels.get(id) ? ` (${labels.get(id)})` : ""));
}

/** withTemplates puts labels in the place of the numbers of templates. */
export function withTemplates(text: string, names: ReadonlyMap<number, string>): string {
  return text.replace(/\btemplate (\d+)\b/g, (as, id) => {
    const name = names.get(Number(id));
    return name ? `template “${name}”` : as;
  });
}

/** action says in a word what a change does. */
export function action(change: ChangeLike): "add" | "remove" | "change" {
  if (change.from === null || change.from === undefined) return "add";
  if (change.to === null || change.to === undefined) return "remove";
  return "change";
}

export interface GroupedChange<T extends ChangeLike> {
  change: T;
  devices: { deviceID: string; label: string }[];
}

/** grouped puts equal changes of several devices together, those of most devices first. */
export function grouped<T extends ChangeLike>(
  devices: { deviceID: string; label: string; changes: T[] }[],
): GroupedChange<T>[] {
  const groups = new Map<string, GroupedChange<T>>();
  for (const device of devices) {
    for (const change of device.changes) {
      const same = JSON.stringify([change.key, change.from, change.to, change.class, change.reason]);
      const group = groups.get(same);
      const named = { deviceID: device.deviceID, label: device.label };
      if (group) group.devices.push(named);
      else groups.set(same, { change, devices: [named] });
    }
  }
  return [...groups.values()].sort(
    (a, b) => b.devices.length - a.devices.length || a.change.key.localeCompare(b.change.key),
  );
}
