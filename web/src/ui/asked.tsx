import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Panel } from "./layout";
import { Loads } from "./page";
import { Muted } from "./text";

/** Asked is a panel about what daemons are asked only when a person wants to know it. onAsk enables the query. */
export function Asked<T>({
  title,
  before,
  asked,
  onAsk,
  query,
  children,
}: {
  title: string;
  before: string; // what the answer is about
  asked: boolean;
  onAsk: () => void;
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  return (
    <Panel
      title={title}
      flush={query.data !== undefined}
      actions={
        <Button size="xs" variant="default" loading={query.isFetching} onClick={() => (asked ? void query.refetch() : onAsk())}>
          {asked ? "Ask again" : "Ask the daemons"}
        </Button>
      }
    >
      {asked ? (
        <Loads query={query} rows={2}>
          {children}
        </Loads>
      ) : (
        <Muted>{before}</Muted>
      )}
    </Panel>
  );
}
