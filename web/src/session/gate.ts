/** The gate holds back requests while nobody is logged in. It knows nothing of how a person logs in. */

type Listener = (open: boolean) => void;

let isOpen = true;
let waiting: (() => void)[] = [];
const listeners = new Set<Listener>();

function tell() {
  for (const listener of listeners) listener(isOpen);
}

/** waitForLogIn resolves once a person has logged in. */
export function waitForLogIn(): Promise<void> {
  const logIn = new Promise<void>((resolve) => waiting.push(resolve));
  if (isOpen) {
    isOpen = false;
    tell();
  }
  return logIn;
}

/** openGate sends what was held back. */
export function openGate() {
  const all = waiting;
  waiting = [];
  isOpen = true;
  tell();
  for (const resolve of all) resolve();
}

export const gate = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  isOpen: () => isOpen,
};
