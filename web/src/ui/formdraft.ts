import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { onStored } from "./keptdraft";
import { useKeeps, useKeptBefore } from "./usekept";

/** FormDraft is a form that is being filled in, beside what is stored. */
export interface FormDraft<T> {
  draft: T;
  setDraft: (draft: T) => void;
  late: T; // the draft once nothing was typed for a moment
  dirty: boolean;
  restored: number | undefined; // when the draft was filled in, before the person left the form; Unix time in ms
  theirs: T | undefined; // what somebody else stored while this was being filled in
  show: (value: T) => void; // what is stored
  saved: () => void; // the draft is stored
  goOn: () => void; // the person goes on with the draft that was restored
  discard: () => void;
}

/**
 * useFormDraft holds what a person fills in; text is equal for two values that do the same. With a name in keep, the
 * browser's tab keeps the draft too: who comes back to the form finds it. Such a draft has no secrets in it.
 */
export function useFormDraft<T>(
  stored: T | undefined,
  empty: T,
  text: (value: T) => string,
  { keep, onShow }: { keep?: string | undefined; onShow?: (value: T) => void } = {},
): FormDraft<T> {
  const kept = useKeptBefore(keep, stored ?? empty, text);
  const [base, setBase] = useState(stored ?? empty);
  const [draft, setDraft] = useState(kept ? kept.draft : base);
  const [late] = useDebouncedValue(draft, 500);
  const [restored, setRestored] = useState(kept && (kept.at ?? 0));
  const [theirs, setTheirs] = useState(kept?.isOlder ? stored : undefined);
  const baseText = text(base);
  const dirty = text(draft) !== baseText;
  const { forget } = useKeeps(keep, dirty, baseText, draft);

  const begin = (value: T) => {
    setBase(value);
    setRestored(undefined);
    setTheirs(undefined);
  };
  const show = (value: T) => {
    begin(value);
    setDraft(value);
    onShow?.(value);
  };
  const now = stored === undefined ? undefined : text(stored);
  const [read, setRead] = useState(now);
  if (stored !== undefined && now !== undefined && now !== read) {
    setRead(now);
    const next = onStored(now, baseText, text(draft));
    if (next === "show") show(stored);
    else if (next === "keep") begin(stored);
    else setTheirs(next === "theirs" ? stored : undefined);
  }

  return {
    draft,
    setDraft,
    late,
    dirty,
    restored,
    theirs,
    show,
    saved: () => {
      forget();
      begin(draft);
    },
    goOn: () => setRestored(undefined),
    discard: () => {
      forget();
      show(theirs ?? base);
    },
  };
}
