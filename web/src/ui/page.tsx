import { Button } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle, type Icon } from "@tabler/icons-react";
import { useIsFetching, type UseInfiniteQueryResult, type UseQueryResult } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";
import { asProblem, placeOf } from "../api/problem";
import { sentence } from "./format";
import { Named } from "./layout";
import { Ago, Prose, To } from "./text";

/** Page is the frame of every page: title, age of what it shows, what can be done. */
export function Page({
  title,
  crumb,
  sub,
  actions,
  updatedAt,
  wide,
  children,
}: {
  title: string;
  crumb?: { href: string; text: string };
  sub?: ReactNode;
  actions?: ReactNode;
  updatedAt?: number;
  wide?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · Muster`;
  }, [title]);
  return (
    <main className="u-page" data-wide={wide || undefined} id="main" tabIndex={-1}>
      <header className="u-head">
        <div className="u-head-text">
          {crumb && (
            <div className="u-crumb">
              <To href={crumb.href}>{crumb.text}</To>
            </div>
          )}
          <h1 className="u-heading" title={title.slice(0, 500)}>
            {title}
          </h1>
          <div className="u-sub">
            {sub}
            {updatedAt !== undefined && updatedAt > 0 && <Age updatedAt={updatedAt} />}
          </div>
        </div>
        {actions && (
          <div className="u-row" data-end>
            {actions}
          </div>
        )}
      </header>
      <Named value={title.slice(0, 80)}>{children}</Named>
    </main>
  );
}

function Age({ updatedAt }: { updatedAt: number }) {
  const reading = useIsFetching() > 0;
  return (
    <span className="u-faint" aria-live="off">
      {reading ? "Reading…" : <Ago at={new Date(updatedAt).toISOString()} before="As of " />}
    </span>
  );
}

/** Loads shows a query: what it gave, or that it is under way, or why it failed with a way to try again. */
export function Loads<T>({
  query,
  children,
  rows = 4,
}: {
  query: Pick<UseQueryResult<T>, "data" | "error" | "isPending" | "refetch">;
  children: (data: T) => ReactNode;
  rows?: number;
}) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error && <Wrong error={query.error} />}
        {children(query.data)}
      </>
    );
  }
  if (query.error) return <Wrong error={query.error} retry={() => void query.refetch()} />;
  return <Ghosts rows={rows} />;
}

/** More asks for the next part of a list that comes in parts. */
export function More({
  query: { hasNextPage, isFetchingNextPage, fetchNextPage },
  children,
}: {
  query: Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage">;
  children: string;
}) {
  if (!hasNextPage) return null;
  return (
    <div className="u-more">
      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {children}
      </Button>
    </div>
  );
}

export function Ghosts({ rows = 4 }: { rows?: number }) {
  return (
    <div className="u-stack" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="u-ghost" style={{ height: 28 }} />
      ))}
    </div>
  );
}

/** Wrong says what went wrong and what to do next. */
export function Wrong({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = asProblem(error);
  return (
    <div className="u-wrong" role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div className="u-grow">
        {problem.errors.every(({ message, line }) => message !== problem.message || !line) && (
          <p>
            <Prose>{sentence(problem.message)}</Prose>
          </p>
        )}
        {problem.errors.filter(({ message, line }) => message !== problem.message || line).map((one, i) => (
          <p key={i}>
            {placeOf(one)}
            <Prose>{sentence(one.message)}</Prose>
          </p>
        ))}
        {problem.hint && (
          <p>
            <Prose>{problem.hint}</Prose>
          </p>
        )}
        {problem.page && problem.page.says !== "" && (
          <p>{problem.page.href ? <To href={problem.page.href}>{problem.page.says}</To> : `${problem.page.says}.`}</p>
        )}
      </div>
      {retry && (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Note says something that is to be known before going on. */
export function Note({ children, tone = "wait" }: { children: ReactNode; tone?: "wait" | "busy" | "bad" }) {
  return (
    <div className="u-wrong" data-tone={tone} role="note">
      <IconInfoCircle size={16} aria-hidden />
      <div className="u-grow u-text">{children}</div>
    </div>
  );
}

/** Nothing is the empty state: why there is nothing, and what could be done. */
export function Nothing({
  icon: Sign = IconInfoCircle,
  title,
  children,
  actions,
}: {
  icon?: Icon;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="u-nothing">
      <Sign size={28} stroke={1.5} aria-hidden />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {actions && <div className="u-row">{actions}</div>}
    </div>
  );
}
