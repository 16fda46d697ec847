import { Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import { useLabels, useTemplateNames } from "../../api/labels";
import { problemOf } from "../../api/problem";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { useInAddress } from "../../ui/address";
import { Export } from "../../ui/export";
import { Filters } from "../../ui/filters";
import { List, Panel, Row } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { Ago, Faint, Mono, Strong, Text, To } from "../../ui/text";
import { UndoRollout } from "../rollouts/UndoDialog";
import { isTemplate, lastOf, lately, namesThen, rolloutOf, subjectOf } from "./audit";
import { AuditDetail } from "./AuditDetail";

const page = 100;

/** nextOf reads where a list goes on from its Link header. */
function nextOf(link: string | null): string | undefined {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? "")?.[1];
  return url ? (new URL(url, location.href).searchParams.get("after") ?? undefined) : undefined;
}

/** idOf is the ID of the device with a label; what is no label stays. */
function idOf(text: string, labels: ReadonlyMap<string, string>): string {
  for (const [id, label] of labels) if (text !== "" && label === text) return id;
  return text;
}

/** dayIn is the day that an address names; blank where it names none. */
const dayIn = (text: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? text : "");

/** startOf is the beginning of a day of the person's calendar, or of one some days later. */
function startOf(day: string, later = 0): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

/** UndoEntry leads to the rollout that brings a change to devices, and takes it back; of rollout 0 it shows nothing. */
function UndoEntry({ rollout }: { rollout: number }) {
  if (rollout === 0) return null;
  return (
    <Row>
      <To href={`/rollouts/${rollout}`}>{`Rollout ${rollout}`}</To>
      <UndoRollout id={rollout} />
    </Row>
  );
}

/** Audit is who did what, and when. */
export default function Audit() {
  const may = useMay("operator");
  const labels = useLabels();
  const names = useTemplateNames();
  const [who, setWho] = useInAddress("who");
  const [what, setWhat] = useInAddress("what");
  const [subject, setSubject] = useInAddress("to");
  const [since, setSince] = useInAddress("since");
  const [until, setUntil] = useInAddress("until");
  const [last, setLast] = useInAddress("last");
  const changes = useQuery({ ...queries.undoableChanges(), enabled: may });
  const typed = {
    ...{ who: who.trim(), what: what.trim(), subject: idOf(subject.trim(), labels) },
    ...{ since: dayIn(since), until: dayIn(until) },
    last: lastOf(last, dayIn(since)),
  };
  const [filter] = useDebouncedValue(typed, 300);
  const queryOf = (limit: number, after: string) => ({
    limit,
    ...(filter.who ? { who: filter.who } : {}),
    ...(filter.what ? { what: filter.what } : {}),
    ...(filter.subject ? { subject: filter.subject } : {}),
    ...(filter.since ? { since: startOf(filter.since) } : {}),
    ...(filter.last ? { since: new Date(Date.now() - (lately[filter.last]?.ms ?? 0)).toISOString() } : {}),
    ...(filter.until ? { until: startOf(filter.until, 1) } : {}),
    ...(after ? { after } : {}),
  });
  const every = () =>
    everyPage((after) => api.GET("/api/v1/audit", { params: { query: queryOf(mostAtOnce, after) } }));
  const audit = useInfiniteQuery({
    queryKey: ["audit", "pages", filter],
    queryFn: async ({ signal, pageParam }) => {
      const query = queryOf(page, pageParam);
      const { data, error, response } = await api.GET("/api/v1/audit", { signal, params: { query } });
      if (!data) throw problemOf(error, response);
      return { entries: data, next: nextOf(response.headers.get("Link")) };
    },
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    enabled: may,
  });
  if (!may) {
    return (
      <Page title="Audit">
        <Panel>
          <Nothing icon={IconHistory} title="The audit needs the role operator">
            Ask an administrator for the role, or a person who has it for what you want to know.
          </Nothing>
        </Panel>
      </Page>
    );
  }
  return (
    <Page
      title="Audit"
      updatedAt={audit.dataUpdatedAt}
      sub={<span>Who did what, newest first</span>}
      actions={<Export name="audit" rows={every} />}
    >
      <div className="u-toolbar" role="search">
        <TextInput
          data-search
          w={200}
          placeholder="Who"
          aria-label="Who"
          value={who}
          onChange={(event) => setWho(event.currentTarget.value)}
        />
        <TextInput
          w={260}
          placeholder="What, such as template. or device.apply"
          aria-label="What"
          value={what}
          onChange={(event) => setWhat(event.currentTarget.value)}
        />
        <TextInput
          w={220}
          placeholder="To: a device, a tag, a template’s ID"
          aria-label="To"
          value={subject}
          onChange={(event) => setSubject(event.currentTarget.value)}
        />
        {Object.entries(lately).map(([name, { says }]) => (
          <Button
            key={name}
            size="xs"
            variant={typed.last === name ? "filled" : "default"}
            aria-pressed={typed.last === name}
            onClick={() => setLast(typed.last === name ? "" : name, "since")}
          >
            {says}
          </Button>
        ))}
        <TextInput
          type="date"
          w={170}
          leftSection={<Faint>From</Faint>}
          leftSectionWidth={46}
          aria-label="From this day on"
          value={dayIn(since)}
          onChange={(event) => setSince(event.currentTarget.value, "last")}
        />
        <TextInput
          type="date"
          w={170}
          leftSection={<Faint>Until</Faint>}
          leftSectionWidth={46}
          aria-label="Until this day"
          value={dayIn(until)}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Filters page="audit" />
      </div>
      <Loads query={audit} rows={8}>
        {(data) => {
          const entries = data.pages.flatMap((one) => one.entries);
          const known = namesThen(entries, names);
          if (entries.length === 0) {
            return (
              <Panel>
                <Nothing icon={IconHistory} title="Nothing matches">
                  A name has to be written out. What ends with a dot finds all that begins so.
                </Nothing>
              </Panel>
            );
          }
          return (
            <Panel flush>
              <List
                rows={entries}
                id={(entry) => entry.id}
                columns={[
                  { title: "When", cell: (entry) => <Ago at={entry.at} /> },
                  { title: "Who", cell: (entry) => <Strong>{entry.who}</Strong> },
                  { title: "What", cell: (entry) => <Mono>{entry.what}</Mono> },
                  {
                    title: "To",
                    cell: (entry) =>
                      labels.has(entry.subject) ? (
                        <To href={`/devices/${entry.subject}`}>{labels.get(entry.subject) || entry.subject}</To>
                      ) : isTemplate(entry) && names.has(Number(entry.subject)) ? (
                        <To href={`/templates/${entry.subject}`}>{subjectOf(entry, labels, names)}</To>
                      ) : (
                        <Text>{subjectOf(entry, labels, known)}</Text>
                      ),
                  },
                  {
                    title: "Detail",
                    cell: (entry) => (
                      <AuditDetail
                        entry={entry}
                        isDevice={labels.has(entry.subject)}
                        undo={<UndoEntry rollout={rolloutOf(entry, changes.data ?? [])} />}
                      />
                    ),
                  },
                ]}
              />
            </Panel>
          );
        }}
      </Loads>
      {audit.hasNextPage && (
        <Row>
          <Button variant="default" loading={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
            Older ones
          </Button>
        </Row>
      )}
    </Page>
  );
}
