import { count } from "./format";

/** rangeText says which members of a list show: 51 to 100 of 2,000. all is undefined where it is not known. */
export function rangeText(first: number, shown: number, all: number | undefined): string {
  if (shown === 0) return "none";
  return `${count(first + 1)} to ${count(first + shown)}${all === undefined ? "" : ` of ${count(all)}`}`;
}
