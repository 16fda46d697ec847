import { useSyncExternalStore } from "react";

let asked: number | undefined;
const listeners = new Set<() => void>();

/** askUndo opens the question whether a rollout is undone, over the page that shows; undefined closes it. */
export function askUndo(rollout: number | undefined) {
  asked = rollout;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** useAskedUndo is the rollout whose undo is asked about. */
export function useAskedUndo(): number | undefined {
  return useSyncExternalStore(subscribe, () => asked);
}
