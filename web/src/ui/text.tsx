import { Button, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy, type Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Link, useRouter } from "wouter";
import { linked } from "./buttons";
import { ago, clock, count, shortID } from "./format";
import { useNow } from "./now";

/** Ago is a relative time; the exact one shows on hover and on focus. */
export function Ago({ at, before = "" }: { at: string | null | undefined; before?: string }) {
  const now = useNow();
  if (!at) return <span className="u-muted">never</span>;
  return (
    <time dateTime={at} data-at={at}>
      {before}
      {ago(new Date(at), now)}
    </time>
  );
}

/** Moment is the time of day, of another day with its date; the whole one shows on hover. */
export function Moment({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} data-at={at}>
      {clock(new Date(at), now)}
    </time>
  );
}

/** ShortID shows the first group of a device ID, and copies all of it; see Copies. */
export function ShortID({ id }: { id: string }) {
  return (
    <button
      type="button"
      className="u-id"
      data-copy={id}
      data-hint={`${id} · click to copy`}
      aria-label={`Copy device ID ${id}`}
    >
      {shortID(id)}
    </button>
  );
}

/** Command is a line to type in a terminal, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <div className="u-row" data-nowrap>
      <pre className="u-code u-grow">{text}</pre>
      <CopyButton value={text} timeout={1500}>
        {({ copied, copy }) => (
          <button type="button" className="u-id" onClick={copy} aria-label="Copy the command">
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </button>
        )}
      </CopyButton>
    </div>
  );
}

export function Chip({ children, href, title }: { children: string; href?: string; title?: string }) {
  const text = <span title={title ?? children}>{children}</span>;
  if (href === undefined) return <span className="u-chip">{text}</span>;
  return (
    <Link href={href} className="u-chip">
      {text}
    </Link>
  );
}

export function Muted({ children }: { children: ReactNode }) {
  return <span className="u-muted u-text">{children}</span>;
}

export function Faint({ children }: { children: ReactNode }) {
  return <span className="u-faint u-text">{children}</span>;
}

export function Strong({ children }: { children: ReactNode }) {
  return <span className="u-strong u-text">{children}</span>;
}

/** Text is what others wrote: it wraps anywhere, and its direction stays its own. */
export function Text({ children }: { children: ReactNode }) {
  return <span className="u-text">{children}</span>;
}

/** Prose is a sentence of the server, in which commands stand between backticks. Where a page has the button, it links. */
export function Prose({ children }: { children: string }) {
  return children.split(/`([^`]+)`/).map((part, i) => {
    if (i % 2 === 0) return part;
    const page = linked(part);
    if (!page) return <Mono key={i}>{part}</Mono>;
    return (
      <To key={i} href={page.href}>
        {page.text}
      </To>
    );
  });
}

export function Clip({ children }: { children: string }) {
  return (
    <span className="u-clip" title={children.slice(0, 500)}>
      {children.slice(0, 300)}
    </span>
  );
}

export function Mono({ children }: { children: ReactNode }) {
  return <span className="u-inline-code">{children}</span>;
}

export function Code({ children }: { children: string }) {
  return <pre className="u-code">{children}</pre>;
}

/** ButtonTo is a link among buttons, which looks like one of them. */
export function ButtonTo({ href, icon: Sign, children }: { href: string; icon?: Icon; children: string }) {
  return (
    <Button component={Link} href={href} variant="default" leftSection={Sign && <Sign size={14} aria-hidden />}>
      {children}
    </Button>
  );
}

export function To({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="u-link">
      {children}
    </Link>
  );
}

/** CellLink is a link in a row of a VirtualTable, which follows it: a cell has no handler of its own. */
export function CellLink({ href, children }: { href: string; children: string }) {
  const { base } = useRouter();
  return (
    <a className="u-link u-clip" href={base + href} data-to={href} title={children.slice(0, 500)}>
      {children.slice(0, 300)}
    </a>
  );
}

/** CellChip is a Chip of one element. */
export function CellChip({ children }: { children: string }) {
  return (
    <span className="u-chip u-clip" title={children}>
      {children}
    </span>
  );
}

/** CellRest counts what a cell has no room for. It stays beside the chips, which give way. */
export function CellRest({ names }: { names: string[] }) {
  return (
    <span className="u-faint u-rest" title={names.join(", ").slice(0, 500)}>
      +{count(names.length)}
    </span>
  );
}

export function Bar({ value, tone, label }: { value: number; tone?: "good" | "bad" | "plain"; label: string }) {
  return (
    <div
      className="u-bar"
      data-tone={tone ?? (value >= 100 ? "good" : undefined)}
      role="progressbar"
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
    >
      <span style={{ width: `${value}%` }} />
    </div>
  );
}

/** Stacked puts lines of one cell below each other. */
export function Stacked({ children }: { children: ReactNode }) {
  return (
    <span className="u-stack" data-tight>
      {children}
    </span>
  );
}
