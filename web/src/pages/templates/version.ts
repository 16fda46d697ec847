/** Said is what a version of a template says, or what the editor has. */
export interface Said {
  label: string;
  priority: number;
  op: string;
  key: string;
  template: string;
}

/** whole is everything that a version of a template says, as lines that can be compared. */
export function whole({ label, priority, op, key, template }: Said): string {
  return [`label: ${label}`, `priority: ${priority}`, `op: ${op}`, `key: ${key || "(everything)"}`, "", template].join("\n");
}
