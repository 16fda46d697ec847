/** SavedFilter is a filter that a person keeps by name: the part of a page's address behind the question mark. */
export interface SavedFilter {
  name: string;
  address: string;
}

const most = 50; // filters of one page
const longest = 2000; // characters of an address

/** readSaved reads what the browser has kept. What is no list of filters counts as none. */
export function readSaved(text: string | null): SavedFilter[] {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(value) ? value.filter(isSaved).slice(0, most) : [];
}

function isSaved(value: unknown): value is SavedFilter {
  const one = value as Partial<SavedFilter> | null;
  return typeof one?.name === "string" && one.name !== "" && typeof one.address === "string" && one.address.length <= longest;
}

/** withSaved are the filters with one more, by name; one of the same name is replaced. */
export function withSaved(all: SavedFilter[], added: SavedFilter): SavedFilter[] {
  const rest = all.filter(({ name }) => name !== added.name);
  return [...rest, added].sort((a, b) => a.name.localeCompare(b.name));
}

/** whyNot says why a filter cannot be kept; blank where it can. */
export function whyNot(all: SavedFilter[], { name, address }: SavedFilter): string {
  if (name.trim() === "") return "Give it a name.";
  if (name.length > 60) return "A name has at most 60 characters.";
  if (address.length > longest) return "The filter is too long to be kept. Choose fewer values.";
  const isNew = !all.some((one) => one.name === name);
  return isNew && all.length >= most ? `${most} filters are kept here. Delete one first.` : "";
}
