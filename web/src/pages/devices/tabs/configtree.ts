import { identities, isObject, quoted } from "../../templates/complete";
import { hasAll, searchable, wordsOf } from "../../../ui/search";
import type { Schemas } from "../../../api/client";
import type { PlannedChange } from "../../../api/queries";

type ManagedKey = Schemas["ManagedKey"];

/** ConfigNode is a key of a configuration. */
export interface ConfigNode {
  key: string; // as templates and `why` name it
  name: string; // the last part of the key
  label: string; // of a folder or device; blank otherwise
  depth: number;
  value: unknown;
  children: ConfigNode[]; // none: a value
  owner: ManagedKey | undefined; // the nearest at or above the key
  waits: PlannedChange | undefined; // the nearest at or above the key
  managed: number; // values below that templates manage
  waiting: number; // values below at which a change waits
}

/** Marks are what is known of the keys of a configuration. */
export interface Marks {
  managed: readonly ManagedKey[];
  changes: readonly PlannedChange[];
  labels: ReadonlyMap<string, string>;
}

const first = ["folders", "devices", "options", "gui", "ldap", "defaults"];

/** isManaged tells of a value that templates manage. */
export const isManaged = ({ owner }: ConfigNode): boolean => owner !== undefined && owner.owner !== "daemon";

/** treeOf is a configuration as a tree, with marks. Lists without identities are values. */
export function treeOf(config: unknown, marks: Marks): ConfigNode[] {
  const owners = new Map(marks.managed.map((one) => [one.key, one]));
  const changes = new Map(marks.changes.filter((one) => one.class !== "skipped").map((one) => [one.key, one]));
  const node = (above: Pick<ConfigNode, "key" | "depth" | "owner" | "waits">, name: string, value: unknown, list: string) => {
    const key = above.key ? `${above.key}.${quoted(name)}` : quoted(name);
    const made: ConfigNode = {
      ...{ key, name, value, depth: above.depth + 1, children: [], managed: 0, waiting: 0 },
      label: list ? labelOf(list, name, value, marks.labels) : "",
      owner: owners.get(key) ?? above.owner,
      waits: changes.get(key) ?? above.waits,
    };
    made.children = membersOf(value, name, list).map((one) => node(made, one.name, one.value, one.list));
    for (const child of made.children) {
      made.managed += child.children.length > 0 ? child.managed : Number(isManaged(child));
      made.waiting += child.children.length > 0 ? child.waiting : Number(child.waits !== undefined);
    }
    return made;
  };
  const root = { key: "", depth: -1, owner: undefined, waits: undefined };
  const place = (name: string) => (first.indexOf(name) + first.length + 1) % (first.length + 1);
  const sections = isObject(config) ? Object.entries(config) : [];
  return sections.sort(([a], [b]) => place(a) - place(b)).map(([name, value]) => node(root, name, value, ""));
}

interface Member {
  name: string;
  value: unknown;
  list: string; // the list that it is a member of; blank for a field
}

/** membersOf are what is below a value: fields of an object, or members of a list that have an identity. */
function membersOf(value: unknown, name: string, list: string): Member[] {
  if (isObject(value)) return Object.entries(value).map(([field, inner]) => ({ name: field, value: inner, list: "" }));
  const identity = list ? undefined : identities[name];
  if (!Array.isArray(value) || !identity) return [];
  const members = (value as unknown[]).map((one) => ({ name: isObject(one) ? one[identity] : undefined, value: one, list: name }));
  return members.every((one): one is Member => typeof one.name === "string" && one.name !== "") ? members : [];
}

function labelOf(list: string, id: string, value: unknown, labels: ReadonlyMap<string, string>): string {
  if (list === "devices" || list === "remoteIgnoredDevices") {
    const known = labels.get(id);
    if (known) return known;
  }
  const label = isObject(value) ? (value.label ?? value.name) : undefined;
  return typeof label === "string" && label !== id ? label : "";
}

/** valueOf writes a value of a configuration as the daemon has it, on one line. */
export function valueOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Only is which values a person asks for. */
export type Only = "" | "managed" | "waiting";

/** picked are the nodes that a search and a filter pick, with what is above them. */
export function picked(nodes: ConfigNode[], search: string, only: Only): ConfigNode[] {
  const words = wordsOf(search);
  if (words.length === 0 && only === "") return nodes;
  const isAsked = (node: ConfigNode) =>
    only === "" || (only === "managed" ? isManaged(node) : node.waits !== undefined);
  const pick = (node: ConfigNode, names: string[]): ConfigNode[] => {
    const above = node.label ? [...names, node.label] : names;
    if (node.children.length === 0) {
      return isAsked(node) && hasAll(words, searchable([node.key, valueOf(node.value), ...above])) ? [node] : [];
    }
    const children = node.children.flatMap((one) => pick(one, above));
    return children.length > 0 ? [{ ...node, children }] : [];
  };
  return nodes.flatMap((node) => pick(node, []));
}

/** rowsOf are the nodes that show: those of which everything above is open. */
export function rowsOf(nodes: ConfigNode[], isOpen: (node: ConfigNode) => boolean): ConfigNode[] {
  const rows: ConfigNode[] = [];
  const add = (node: ConfigNode) => {
    rows.push(node);
    if (node.children.length > 0 && isOpen(node)) node.children.forEach(add);
  };
  nodes.forEach(add);
  return rows;
}

/** valuesOf are all values of nodes. */
export function valuesOf(nodes: ConfigNode[]): ConfigNode[] {
  return nodes.flatMap((node) => (node.children.length === 0 ? [node] : valuesOf(node.children)));
}

/** nodeAt is the node of a key; undefined where the configuration does not have it. */
export function nodeAt(nodes: ConfigNode[], key: string): ConfigNode | undefined {
  for (const node of nodes) {
    if (node.key === key) return node;
    if (key.startsWith(`${node.key}.`)) return nodeAt(node.children, key);
  }
  return undefined;
}
