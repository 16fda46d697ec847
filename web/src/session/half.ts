/**
 * The half of the session that no cookie holds. Browsers send a cookie to every port of a host; what this origin keeps
 * goes nowhere. All tabs share it.
 */
const kept = "muster-session";

export const halfHeader = "Muster-Session";

export const half = {
  now: (): string => localStorage.getItem(kept) ?? "",
  keep: (value: string) => localStorage.setItem(kept, value),
  forget: () => localStorage.removeItem(kept),
  /** onOtherTab calls back when a person has logged in with another tab; it gives what ends that. */
  onOtherTab: (entered: () => void) => {
    const listener = (event: StorageEvent) => {
      if (event.key === kept && event.newValue) entered();
    };
    window.addEventListener("storage", listener);
    return () => window.removeEventListener("storage", listener);
  },
};
