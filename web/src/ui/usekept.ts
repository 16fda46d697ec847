import { useEffect, useState } from "react";
import { useMe } from "../session/me";
import { keptDrafts } from "./keptdraft";

/** KeptBefore is a draft that a person left. */
interface KeptBefore<T> {
  draft: T;
  isOlder: boolean; // somebody has stored something else since
  at?: number;
}

/** useKeptBefore reads the draft that a person left on a page, once. Such a draft has no secrets in it. */
export function useKeptBefore<T>(name: string, stored: T, text: (value: T) => string): KeptBefore<T> | undefined {
  const me = useMe();
  const [kept] = useState(() => keptDrafts.read(`${me.name}/${name}`, stored, text));
  return kept;
}

/**
 * useKeeps keeps a draft in the browser's tab while it differs from what is stored, and has the browser ask before the tab
 * is closed. forget is for a form that is stored and left at once.
 */
export function useKeeps(name: string, dirty: boolean, base: string, draft: unknown): { forget: () => void } {
  const me = useMe();
  const whole = `${me.name}/${name}`;
  useEffect(() => {
    if (dirty) keptDrafts.keep(whole, { base, draft });
    else keptDrafts.forget(whole);
  }, [whole, dirty, base, draft]);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  return { forget: () => keptDrafts.forget(whole) };
}
