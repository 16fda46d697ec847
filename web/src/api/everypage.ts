import { send, type Answer } from "./client";

/** mostAtOnce is how many members of a list are read at once where all of them are wanted. */
export const mostAtOnce = 1000;

/** everyPage reads a list that comes in parts to its end. */
export async function everyPage<T>(sent: (after: string) => Promise<Answer<T[]>>): Promise<T[]> {
  const all: T[] = [];
  for (let after = ""; ; ) {
    const page = await send(sent(after));
    all.push(...page.data);
    if (!page.after || page.after === after) return all;
    after = page.after;
  }
}
