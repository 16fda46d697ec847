/** until waits for a condition that is asked again and again. */
export async function until(what: string, holds: () => Promise<boolean>, limit = 110_000): Promise<void> {
  const end = Date.now() + limit;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it did not come to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
