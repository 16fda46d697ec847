const notLoaded = /dynamically imported module|module script failed|error loading/i;

/** explained says what a person can do about an error of a page. */
export function explained(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (notLoaded.test(message)) return "A part of the console cannot be loaded. Muster was updated, or the connection broke.";
  return `This page failed: ${message.slice(0, 300)}`;
}
