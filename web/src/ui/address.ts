import { useSearchParams } from "wouter";

/**
 * useInAddress is a text of a page that its address carries, so that it can be sent to others. It is blank without one.
 * A change may end another text (ends), which does not go with it.
 */
export function useInAddress(name: string): [text: string, change: (text: string, ends?: string) => void] {
  const [params, setParams] = useSearchParams();
  const change = (text: string, ends = "") =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        next.delete(ends);
        if (text) next.set(name, text);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return [params.get(name) ?? "", change];
}
