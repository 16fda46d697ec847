import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import { isProgram } from "../../ui/hjson";

const deviceFields = ["deviceID", "label", "tags", "apiAddress", "apiPort", "os", "arch", "version", "vars"];
const functions = ["device", "config", "devices()", "devices(tag=\"\")", "tags()", "secret(\"\")", "fail()", "print()", "json", "math"];

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// What identifies the members of a list of a configuration.
export const identities: Record<string, string> = { folders: "id", devices: "deviceID", ignoredFolders: "id", remoteIgnoredDevices: "deviceID" };

export function quoted(name: string): string {
  return /[."*\\]|^\s|\s$/.test(name) ? JSON.stringify(name) : name;
}

/** keysOf lists the keys of a configuration that a template can name: fields, members by identity, and * for all. */
export function keysOf(config: unknown, most = 2000): string[] {
  const keys = new Set<string>();
  const visit = (value: unknown, path: string, list: string) => {
    if (keys.size >= most) return;
    if (path) keys.add(path);
    const below = (name: string) => (path ? `${path}.${name}` : name);
    const identity = identities[list];
    if (Array.isArray(value) && identity) {
      for (const member of value as unknown[]) {
        const id = isObject(member) ? member[identity] : undefined;
        if (typeof id !== "string") continue;
        visit(member, below("*"), "");
        visit(member, below(quoted(id)), "");
      }
    } else if (isObject(value)) {
      for (const [name, inner] of Object.entries(value)) if (path || name !== "version") visit(inner, below(quoted(name)), name);
    }
  };
  visit(config, "", "");
  return [...keys].sort();
}

/** fieldsAt lists the names of the fields below a key, for the object that a template has there. */
export function fieldsAt(keys: string[], key: string): string[] {
  const prefix = key === "" ? "" : `${key.toLowerCase()}.`;
  const names = new Set<string>();
  for (const one of keys) {
    if (!one.toLowerCase().startsWith(prefix)) continue;
    const name = /^(?:"(?:[^"\\]|\\.)*"|[^.]+)/.exec(one.slice(prefix.length))?.[0];
    if (name && name !== "*") names.add(name);
  }
  return [...names];
}

/** completions proposes what may stand at the cursor: fields of the key, what programs are given, tags and secrets. */
export function completions(known: { fields: string[]; tags: string[]; secrets: string[] }): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const of = (before: RegExp, options: string[], type: string): CompletionResult | null => {
      const found = context.matchBefore(before);
      if (!found || options.length === 0) return null;
      const typed = /[\w:.-]*$/.exec(found.text)?.[0] ?? "";
      return { from: found.to - typed.length, options: options.map((label) => ({ label, type })) };
    };
    const program = isProgram(context.state.doc.toString());
    const inText =
      of(/secret\(["'][\w:.-]*/, known.secrets, "constant") ??
      of(/\$\{secret:[\w:.-]*/, known.secrets, "constant") ??
      of(/tag=["'][\w:.-]*/, known.tags, "constant");
    if (inText) return inText;
    const member = program ? context.matchBefore(/\bdevice\.\w*/) : null;
    if (member) {
      return { from: member.from + "device.".length, options: deviceFields.map((label) => ({ label, type: "property" })) };
    }
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    const from = word?.from ?? context.pos;
    const fields = known.fields.map((label) => ({ label, type: "property" }));
    if (!program) return { from, options: fields };
    return { from, options: [...functions.map((label) => ({ label, type: "function" })), ...fields] };
  };
}
