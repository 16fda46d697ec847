/** matches tells whether every word of a search is in one of the texts, in any letter case. */
export function matches(search: string, texts: string[]): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const all = texts.join("\n").toLowerCase();
  return words.every((word) => all.includes(word));
}
