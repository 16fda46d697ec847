import { Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { useLabels } from "../api/labels";
import { problemOf } from "../api/problem";
import { useMay } from "../session/me";
import { List, Panel, Row } from "../ui/layout";
import { Loads, Nothing, Page } from "../ui/page";
import { Ago, Mono, Strong, Text, To } from "../ui/text";

const page = 100;

/** nextOf reads where a list goes on from its Link header. */
function nextOf(link: string | null): string | undefined {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? "")?.[1];
  return url ? (new URL(url, location.href).searchParams.get("after") ?? undefined) : undefined;
}

/** Audit is who did what, and when. */
export default function Audit() {
  const may = useMay("operator");
  const labels = useLabels();
  const [who, setWho] = useState("");
  const [what, setWhat] = useState("");
  const [filter] = useDebouncedValue({ who: who.trim(), what: what.trim() }, 300);
  const audit = useInfiniteQuery({
    queryKey: ["audit", "pages", filter],
    queryFn: async ({ signal, pageParam }) => {
      const query = {
        limit: page,
        ...(filter.who ? { who: filter.who } : {}),
        ...(filter.what ? { what: filter.what } : {}),
        ...(pageParam ? { after: pageParam } : {}),
      };
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
    <Page title="Audit" updatedAt={audit.dataUpdatedAt} sub={<span>Who did what, newest first</span>}>
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
      </div>
      <Loads query={audit} rows={8}>
        {(data) => {
          const entries = data.pages.flatMap((one) => one.entries);
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
                      ) : (
                        <Text>{entry.subject.slice(0, 200)}</Text>
                      ),
                  },
                  { title: "Detail", cell: (entry) => <Text>{entry.detail.slice(0, 1000)}</Text> },
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
