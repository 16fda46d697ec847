/** wordsOf are the words of a search. */
export const wordsOf = (search: string): string[] => search.toLowerCase().split(/\s+/).filter(Boolean);

/** searchable is what hasAll searches: a word is in one of the texts, and never across two. */
export const searchable = (texts: string[]): string => texts.join("\n").toLowerCase();

export const hasAll = (words: string[], text: string): boolean => words.every((word) => text.includes(word));

/** matches tells whether every word of a search is in one of the texts, in any letter case. */
export function matches(search: string, texts: string[]): boolean {
  const words = wordsOf(search);
  return words.length === 0 || hasAll(words, searchable(texts));
}

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "isComposing">;

/** typedEarly is the text after a key that was pressed before its field had the focus; undefined: the key is no letter. */
export function typedEarly(
  text: string,
  { key, ctrlKey, metaKey, altKey, isComposing }: Pressed,
): string | undefined {
  if (ctrlKey || metaKey || altKey || isComposing) return undefined;
  if (key === "Backspace") return Array.from(text).slice(0, -1).join("");
  return Array.from(key).length === 1 ? text + key : undefined;
}
