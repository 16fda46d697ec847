import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";

/** FormDraft is a form that is being filled in, beside what is stored. */
export interface FormDraft<T> {
  draft: T;
  setDraft: (draft: T) => void;
  late: T; // the draft once nothing was typed for a moment
  dirty: boolean;
  theirs: T | undefined; // what somebody else stored while this was being filled in
  show: (value: T) => void; // what is stored
  saved: () => void; // the draft is stored
  discard: () => void;
}

/** useFormDraft keeps a draft; text is equal for two values that do the same. */
export function useFormDraft<T>(
  stored: T | undefined,
  empty: T,
  text: (value: T) => string,
  onShow?: (value: T) => void,
): FormDraft<T> {
  const [base, setBase] = useState(stored ?? empty);
  const [draft, setDraft] = useState(base);
  const [late] = useDebouncedValue(draft, 500);
  const [theirs, setTheirs] = useState<T>();
  const dirty = text(draft) !== text(base);

  const show = (value: T) => {
    setBase(value);
    setDraft(value);
    setTheirs(undefined);
    onShow?.(value);
  };
  const now = stored && text(stored);
  const [read, setRead] = useState(now);
  if (stored && now !== read) {
    setRead(now);
    if (dirty) setTheirs(stored);
    else show(stored);
  }

  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);

  return { draft, setDraft, late, dirty, theirs, show, saved: () => setBase(draft), discard: () => show(base) };
}
