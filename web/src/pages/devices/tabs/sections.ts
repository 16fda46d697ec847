/** What of a configuration can be restored by itself: its parts, and single folders and devices. */

const name = /^(?:"(?:[^"\\]|\\.)*"|[^.]+)/;
const lists = ["folders", "devices"];

/** sectionsOf are the sections in which the keys of a difference lie, sorted; a whole list comes before its members. */
export function sectionsOf(keys: string[]): string[] {
  const sections = new Set<string>();
  for (const key of keys) {
    const first = name.exec(key)?.[0];
    if (!first) continue;
    sections.add(first);
    const member = lists.includes(first) ? name.exec(key.slice(first.length + 1))?.[0] : undefined;
    if (member) sections.add(`${first}.${member}`);
  }
  return [...sections].sort();
}
