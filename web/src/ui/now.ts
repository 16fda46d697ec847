import { useSyncExternalStore } from "react";

/** One clock for the whole page. It ticks every ten seconds: relative times need no more. */
let now = new Date();
const listeners = new Set<() => void>();

function tick() {
  now = new Date();
  for (const listener of listeners) listener();
}

setInterval(tick, 10_000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) tick();
});

export function useNow(): Date {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => now,
  );
}
