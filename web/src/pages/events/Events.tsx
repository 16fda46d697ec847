import { Button, MultiSelect } from "@mantine/core";
import { IconActivity, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useState, useSyncExternalStore } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useLabels } from "../../api/labels";
import { useLiveState } from "../../live/Live";
import { recent, type Happened } from "../../live/recent";
import { Export } from "../../ui/export";
import { SearchField } from "../../ui/field";
import { Filters } from "../../ui/filters";
import { plural, shortID } from "../../ui/format";
import { Panel } from "../../ui/layout";
import { Nothing, Page } from "../../ui/page";
import { matches } from "../../ui/search";
import { events, State } from "../../ui/state";
import { ButtonTo, CellLink, Clip, Moment, Muted } from "../../ui/text";
import { VirtualTable, type VColumn } from "../../ui/vtable";

/** Events are what happens to devices, folders and rollouts, as it happens. Paused, the list stays as it is. */
export default function Events() {
  const [params, setParams] = useSearchParams();
  const [, navigate] = useLocation();
  const live = useSyncExternalStore(recent.subscribe, recent.now);
  const [stopped, setStopped] = useState<readonly Happened[]>();
  const stream = useLiveState();
  const labels = useLabels();
  const search = params.get("q") ?? "";
  const types = params.getAll("type");
  const set = (change: (next: URLSearchParams) => void) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        change(next);
        return next;
      },
      { replace: true },
    );
  const named = (one: Happened) => labels.get(one.device) || shortID(one.device);
  const shown = (stopped ?? live).filter(
    (one) =>
      (types.length === 0 || types.includes(one.type)) && matches(search, [named(one), one.device, one.type, one.text]),
  );
  const missing = stopped ? live.findIndex((one) => one.id === stopped[0]?.id) : 0;
  const later = missing < 0 ? live.length : missing;
  return (
    <Page
      wide
      title="Events"
      sub={
        <>
          <span>{stopped ? "The list is paused" : stream === "live" ? "Following" : "Waiting for the server"}</span>
          {stopped && <span>{plural(later, "event")} since then</span>}
        </>
      }
      actions={
        <>
          <Export name="events-now" rows={() => shown} says="The events that show here" />
          <ButtonTo href="/events/kept">What happened before</ButtonTo>
          <Button
            variant="default"
            leftSection={stopped ? <IconPlayerPlay size={14} aria-hidden /> : <IconPlayerPause size={14} aria-hidden />}
            onClick={() => setStopped(stopped ? undefined : live)}
          >
            {stopped ? "Follow" : "Pause"}
          </Button>
        </>
      }
    >
      <SearchField
        label="Search devices and texts"
        value={search}
        onChange={(text) => set((next) => (text ? next.set("q", text) : next.delete("q")))}
      >
        <MultiSelect
          size="xs"
          w={320}
          aria-label="Types"
          placeholder={types.length === 0 ? "All types" : undefined}
          data={Object.entries(events).map(([value, { word }]) => ({ value, label: word }))}
          value={types}
          onChange={(chosen) =>
            set((next) => {
              next.delete("type");
              for (const type of chosen) next.append("type", type);
            })
          }
          clearable
        />
        <Filters page="events" />
      </SearchField>
      {shown.length === 0 ? (
        <Panel>
          <Nothing icon={IconActivity} title={live.length === 0 ? "Nothing has happened yet" : "No event matches"}>
            {live.length === 0
              ? "Events show here from when you opened the console. What happened before is kept by the server."
              : "Choose other types, or search for another device."}
          </Nothing>
        </Panel>
      ) : (
        <Panel flush>
          <VirtualTable
            label="Events"
            rows={shown}
            columns={columnsWith(named)}
            narrow={onNarrow}
            id={(one) => String(one.id)}
            name={(one) => one.text}
            onOpen={(one) => {
              const to = one.href || (one.device && `/devices/${one.device}`);
              if (to) navigate(to);
            }}
          />
        </Panel>
      )}
    </Page>
  );
}

const onNarrow = ["text", "device", "at"];

function columnsWith(named: (one: Happened) => string): VColumn<Happened>[] {
  return [
    { id: "at", title: "When", min: 96, cell: (one) => <Moment at={one.at} /> },
    { id: "type", title: "Type", min: 130, cell: (one) => <State badges={events} state={one.type} /> },
    {
      id: "device",
      title: "Device",
      min: 160,
      cell: (one) =>
        one.device ? (
          <CellLink href={`/devices/${one.device}`}>{named(one)}</CellLink>
        ) : (
          <Muted>none</Muted>
        ),
    },
    {
      id: "text",
      title: "What",
      min: 320,
      grow: 1,
      cell: (one) =>
        one.href ? (
          <CellLink href={one.href}>{one.text}</CellLink>
        ) : (
          <Clip>{one.text}</Clip>
        ),
    },
  ];
}
