import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { inventory } from "../../api/inventory";
import { useLabels } from "../../api/labels";
import { useMe } from "../../session/me";
import { includes } from "../../session/roles";
import { Change } from "../../ui/change";
import { sentence, shortID } from "../../ui/format";
import { Rows, Stack } from "../../ui/layout";
import { Loads, Note } from "../../ui/page";
import { Code, Faint, Muted, Text } from "../../ui/text";
import type { Draft } from "./draft";

/**
 * OneDevice evaluates the text for one device. Without a choice it is one with a tag of the draft, which may not be
 * stored yet. Without such a device the server picks one.
 */
export function OneDevice({ draft, id, dirty }: { draft: Draft; id: number | undefined; dirty: boolean }) {
  const fleet = useQuery(inventory());
  const labels = useLabels();
  const me = useMe();
  const mayWrite = includes(me.role, "author");
  const [device, setDevice] = useState<string | null>(null);
  const all = fleet.data?.devices ?? [];
  const reached = all.find(({ tags }) => tags.some((tag) => draft.tags.includes(tag)))?.deviceID;
  const on = device ?? reached ?? null;
  const query = on ? { device: on } : {};
  const { template, op, key } = draft;
  const stored = id !== undefined && (!dirty || !mayWrite);
  const evaluation = useQuery({
    queryKey: ["evaluate", stored ? id : { template, op, key }, on],
    queryFn: ({ signal }) =>
      stored
        ? ask(
            api.GET("/api/v1/templates/{templateID}/evaluate", {
              signal,
              params: { path: { templateID: id }, query },
            }),
          )
        : ask(api.POST("/api/v1/templates/evaluate", { signal, params: { query }, body: { template, op, key } })),
    enabled: !fleet.isPending && (stored || (mayWrite && template.trim() !== "")),
    retry: false,
  });
  return (
    <Stack>
      <Select
        label="On the device"
        placeholder="One that it applies to"
        searchable
        clearable
        limit={50}
        data={all.map((row) => ({ value: row.deviceID, label: row.label || shortID(row.deviceID) }))}
        value={device}
        onChange={setDevice}
      />
      {template.trim() === "" ? (
        <Muted>Write a text first.</Muted>
      ) : (
        <Loads query={evaluation}>
          {(data) => (
            <Stack>
              <Faint>
                On {data.deviceID ? labels.get(data.deviceID) || shortID(data.deviceID) : "a sample configuration"} ·{" "}
                {data.language} · {data.durationMs} ms
              </Faint>
              {draft.tags.length > 0 && reached === undefined && <Note>No device has a tag of this template.</Note>}
              {data.warnings.map((warning) => (
                <Note key={warning}>{sentence(warning)}</Note>
              ))}
              <Code>{JSON.stringify(data.value, null, 2).slice(0, 20_000)}</Code>
              {data.output.length > 0 && <Code>{data.output.join("\n")}</Code>}
              {data.changes.length === 0 ? (
                <Text>It changes nothing there.</Text>
              ) : (
                <Rows>
                  {data.changes.slice(0, 100).map((change) => (
                    <li key={change.key}>
                      <Change change={change} labels={labels} />
                    </li>
                  ))}
                </Rows>
              )}
            </Stack>
          )}
        </Loads>
      )}
    </Stack>
  );
}
