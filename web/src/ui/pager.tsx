import { Button } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { rangeText } from "./range";
import { Muted } from "./text";

/** usePlaces keeps where the pages of a list begin, up to the one that shows. Another question begins with the first. */
export function usePlaces(question: string) {
  const [kept, setKept] = useState({ question, places: [""] });
  const places = kept.question === question ? kept.places : [""];
  return {
    after: places.at(-1) ?? "",
    number: places.length - 1,
    next: (after: string) => setKept({ question, places: [...places, after] }),
    previous: () => setKept({ question, places: places.slice(0, -1) }),
  };
}

/** Pager leads to the pages before and after the one that shows. Nothing shows where there is one page alone. */
export function Pager({
  what,
  range,
  previous,
  next,
}: {
  what: string;
  range: string;
  previous: (() => void) | undefined; // undefined: this is the first page
  next: (() => void) | undefined; // undefined: this is the last page
}) {
  if (!previous && !next) return null;
  return (
    <nav className="u-pager" aria-label={`Pages of ${what}`}>
      <Muted>{`${what.charAt(0).toUpperCase()}${what.slice(1)} ${range}`}</Muted>
      <Button
        size="xs"
        variant="default"
        disabled={!previous}
        leftSection={<IconChevronLeft size={14} aria-hidden />}
        aria-label={`Previous ${what}`}
        onClick={previous}
      >
        Previous
      </Button>
      <Button
        size="xs"
        variant="default"
        disabled={!next}
        rightSection={<IconChevronRight size={14} aria-hidden />}
        aria-label={`Next ${what}`}
        onClick={next}
      >
        Next
      </Button>
    </nav>
  );
}

const rowsOfPage = 50;

/** usePart gives the part of rows that shows, and the pager below it: a long list that is here whole is drawn in parts. */
export function usePart<T>(rows: T[], what: string): { part: T[]; pager: ReactNode } {
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(rows.length / rowsOfPage) - 1);
  const at = Math.min(page, last);
  const part = rows.slice(at * rowsOfPage, (at + 1) * rowsOfPage);
  return {
    part,
    pager: (
      <Pager
        what={what}
        range={rangeText(at * rowsOfPage, part.length, rows.length)}
        previous={at > 0 ? () => setPage(at - 1) : undefined}
        next={at < last ? () => setPage(at + 1) : undefined}
      />
    ),
  };
}
