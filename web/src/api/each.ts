import { asProblem } from "./problem";

export interface Outcome<T> {
  done: T[];
  failed: { item: T; reason: string }[];
}

/** each does something for every item, a few at a time. What fails does not stop the rest. */
export async function each<T>(
  items: T[],
  act: (item: T) => Promise<unknown>,
  progress: (n: number, so: Outcome<T>) => void,
  width = 6,
): Promise<Outcome<T>> {
  const outcome: Outcome<T> = { done: [], failed: [] };
  let next = 0;
  const worker = async () => {
    for (;;) {
      const item = items[next++];
      if (item === undefined) return;
      try {
        await act(item);
        outcome.done.push(item);
      } catch (error) {
        const problem = asProblem(error);
        outcome.failed.push({ item, reason: [problem.message, problem.hint].filter(Boolean).join(". ") });
      }
      progress(outcome.done.length + outcome.failed.length, outcome);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return outcome;
}
