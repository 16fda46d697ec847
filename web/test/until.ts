/** patience in ms: a busy machine is slow, and a wait ends as soon as what it waits for is there. */
export const patience = 200_000;

/** until waits for a condition that is asked again and again. A question that fails is asked again, too. */
export async function until(what: string, holds: () => Promise<boolean>, limit = patience): Promise<void> {
  const end = Date.now() + limit;
  for (;;) {
    let cause: unknown;
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > end) throw new Error(`it did not come to this: ${what}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
