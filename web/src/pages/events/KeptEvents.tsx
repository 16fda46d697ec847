import { MultiSelect, NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { queries, type LogQuery } from "../../api/queries";
import { Filters } from "../../ui/filters";
import { Row } from "../../ui/layout";
import { Page } from "../../ui/page";
import { badgeOf, events } from "../../ui/state";
import { Kept } from "./Kept";

const kinds = ["connection", "configuration", "revision", "folder", "conflict", "peers", "order"] as const;

const hour = 3_600_000; // ms
const spans: [hours: number, name: string][] = [
  [0, "As long as events are kept"],
  [2, "The last 2 hours"],
  [12, "The last 12 hours"],
  [24, "The last day"],
];

/** KeptEvents are what happened before, too: the events that the server keeps. The filters are in the address. */
export default function KeptEvents() {
  const [params, setParams] = useSearchParams();
  const [opened] = useState(Date.now);
  const chosen = kinds.filter((kind) => params.getAll("kind").includes(kind));
  const hours = Number(params.get("hours") ?? 0) || 0;
  const set = (kind: string[], last: number) =>
    setParams(new URLSearchParams([...kind.map((one) => ["kind", one]), ...(last ? [["hours", String(last)]] : [])]), {
      replace: true,
    });
  const about: LogQuery = {
    limit: 100,
    ...(chosen.length > 0 ? { kind: chosen } : {}),
    ...(hours > 0 ? { since: new Date(opened - hours * hour).toISOString() } : {}),
  };
  return (
    <Page
      title="Events that are kept"
      crumb={{ href: "/events", text: "Events" }}
      updatedAt={useInfiniteQuery(queries.eventLog(about)).dataUpdatedAt}
    >
      <Row>
        <MultiSelect
          size="xs"
          w={320}
          aria-label="Kinds"
          placeholder={chosen.length === 0 ? "All kinds" : undefined}
          data={kinds.map((value) => ({ value, label: badgeOf(events, value).word }))}
          value={chosen}
          onChange={(kind) => set(kind, hours)}
          clearable
        />
        <NativeSelect
          size="xs"
          aria-label="Since"
          data={spans.map(([value, label]) => ({ value: String(value), label }))}
          value={String(hours)}
          onChange={(event) => set(chosen, Number(event.currentTarget.value))}
        />
        <Filters page="kept-events" />
      </Row>
      <Kept about={about} />
    </Page>
  );
}
