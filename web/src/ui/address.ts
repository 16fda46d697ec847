import { useSearchParams } from "wouter";

/** useInAddress is a text of a page that its address carries, so that it can be sent to others. It is blank without one. */
export function useInAddress(name: string): [text: string, change: (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const change = (text: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (text) next.set(name, text);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return [params.get(name) ?? "", change];
}
