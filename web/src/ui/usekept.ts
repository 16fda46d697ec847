import { useEffect, useState } from "react";
import { useMe } from "../session/me";
import { keptDrafts } from "./keptdraft";

/** KeptBefore is a draft that a person left. */
interface KeptBefore<T> {
  draft: T;
  isOlder: boolean; // somebody has stored something else since
  at?: number;
}

/** useKeptBefore reads the draft that a person left on a page, once. Without a name nothing is kept. */
export function useKeptBefore<T>(
  name: string | undefined,
  stored: T,
  text: (value: T) => string,
): KeptBefore<T> | undefined {
  const whole = useWhole(name);
  const [kept] = useState(() => (whole === undefined ? undefined : keptDrafts.read(whole, stored, text)));
  return kept;
}

/**
 * useKeeps keeps a draft in the browser's tab while it differs from what is stored, and has the browser ask before the tab
 * is closed. Such a draft has no secrets in it. forget is for a form that is left at once.
 */
export function useKeeps(name: string | undefined, dirty: boolean, base: string, draft: unknown): { forget: () => void } {
  const whole = useWhole(name);
  useEffect(() => {
    if (whole === undefined) return;
    if (dirty) keptDrafts.keep(whole, { base, draft });
    else keptDrafts.forget(whole);
  }, [whole, dirty, base, draft]);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  return { forget: () => (whole === undefined ? undefined : keptDrafts.forget(whole)) };
}

/** useWhole is the name of a draft with the name of the user: another user of the same tab does not find it. */
function useWhole(name: string | undefined): string | undefined {
  const me = useMe();
  return name === undefined ? undefined : `${me.name}/${name}`;
}
