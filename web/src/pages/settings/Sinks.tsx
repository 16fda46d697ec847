import { MultiSelect, PasswordInput, Select, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import type { components } from "../../api/schema";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { Columns, List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Chip, Mono, Muted, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { NeedsAdmin } from "./NeedsAdmin";

type Sink = components["schemas"]["Sink"];
type Kind = Sink["kind"];
type Stream = Sink["streams"][number];

const kinds: { value: Kind; label: string; address: string }[] = [
  { value: "http", label: "JSON lines over HTTP", address: "https://logs.example.com/in" },
  { value: "elasticsearch", label: "Elasticsearch or OpenSearch", address: "https://es.example.com:9200" },
  { value: "syslog", label: "Syslog (RFC 5424)", address: "tls://syslog.example.com:6514" },
  { value: "otlp", label: "OpenTelemetry (OTLP over HTTP)", address: "https://otel.example.com:4318" },
  { value: "file", label: "A file in the server's home", address: "" },
];

const streams: { value: Stream; label: string }[] = [
  { value: "audit", label: "Audit: who did what" },
  { value: "problems", label: "Problems: connections and configurations" },
  { value: "changes", label: "Changes: configurations that were read, orders" },
  { value: "sync", label: "Sync: folders, conflicts, peers" },
];

/** Sinks are places outside that get what Muster records. */
export default function Sinks() {
  const isAdmin = useMay("admin");
  const client = useQueryClient();
  const sinks = useQuery({ ...queries.sinks(), enabled: isAdmin });
  if (!isAdmin) return <NeedsAdmin what="Sinks" />;
  const changed = () => void client.invalidateQueries({ queryKey: ["sinks"] });
  return (
    <Stack>
      <Panel title="Sinks" flush actions={<Export name="sinks" rows={() => sinks.data ?? []} says="All sinks, without the values of their headers" />}>
        <Loads query={sinks}>
          {(all) =>
            all.length === 0 ? (
              <Nothing title="No sink yet">A sink gets what Muster records from the moment it is added.</Nothing>
            ) : (
              <List
                rows={all}
                id={(sink) => sink.name}
                columns={[
                  {
                    title: "Name",
                    cell: (sink) => (
                      <>
                        <Strong>{sink.name}</Strong> <Muted>{kinds.find((one) => one.value === sink.kind)?.label}</Muted>
                      </>
                    ),
                  },
                  { title: "Address", cell: (sink) => <Mono>{sink.address || `sinks/${sink.name}.jsonl`}</Mono> },
                  {
                    title: "Streams",
                    cell: (sink) => (
                      <Row>
                        {sink.streams.map((stream) => (
                          <Chip key={stream}>{stream}</Chip>
                        ))}
                      </Row>
                    ),
                  },
                  { title: "How far it is", cell: (sink) => <Standing sink={sink} /> },
                  {
                    title: "",
                    right: true,
                    cell: (sink) => (
                      <Row>
                        <Act
                          needs="admin"
                          size="compact-xs"
                          says={`${sink.name} took the record of trial`}
                          run={async () => {
                            await ask(titled("").POST("/api/v1/sinks/{sink}/test", { params: { path: { sink: sink.name } } }));
                            changed();
                          }}
                        >
                          Test
                        </Act>
                        <Act
                          needs="admin"
                          size="compact-xs"
                          color="red"
                          says={`${sink.name} is removed`}
                          run={async (title) => {
                            await ask(titled(title).DELETE("/api/v1/sinks/{sink}", { params: { path: { sink: sink.name } } }));
                            changed();
                          }}
                          confirm={{
                            title: `Remove ${sink.name}?`,
                            verb: "Remove",
                            body: <Text>{sink.waiting.toLocaleString("en")} entries were not sent to it yet. What it has stays there.</Text>,
                          }}
                        >
                          Remove
                        </Act>
                      </Row>
                    ),
                  },
                ]}
              />
            )
          }
        </Loads>
      </Panel>
      <NewSink taken={(sinks.data ?? []).map(({ name }) => name)} changed={changed} />
    </Stack>
  );
}

function Standing({ sink }: { sink: Sink }) {
  const lines = [
    `${sink.sent.toLocaleString("en")} sent, ${sink.waiting.toLocaleString("en")} waiting`,
    sink.trouble !== "" && `It takes nothing: ${sink.trouble}`,
    sink.refused > 0 && `${sink.refused.toLocaleString("en")} refused`,
    sink.lost > 0 && `${sink.lost.toLocaleString("en")} deleted before it took them`,
  ];
  return lines.filter((line) => line !== false).map((line) => <div key={line}>{line}</div>);
}

function NewSink({ taken, changed }: { taken: string[]; changed: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("http");
  const [address, setAddress] = useState("");
  const [authorization, setAuthorization] = useState("");
  const [picked, setPicked] = useState<Stream[]>([]);
  const [title, setTitle] = useState("");
  const isTaken = taken.includes(name.trim());
  const shape = kinds.find((one) => one.value === kind);
  const hasHeaders = kind !== "file" && kind !== "syslog";
  return (
    <Panel title="New sink">
      <Stack>
        <Columns>
          <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label="Kind"
            data={kinds.map(({ value, label }) => ({ value, label }))}
            value={kind}
            allowDeselect={false}
            onChange={(value) => setKind((value ?? "http"))}
          />
          {kind !== "file" && (
            <TextInput
              label="Address"
              placeholder={shape?.address}
              value={address}
              onChange={(event) => setAddress(event.currentTarget.value)}
            />
          )}
          {hasHeaders && (
            <PasswordInput
              label="Header Authorization"
              description="Shown nowhere; may stay blank"
              placeholder="ApiKey …, Bearer …, Splunk …"
              autoComplete="off"
              value={authorization}
              onChange={(event) => setAuthorization(event.currentTarget.value)}
            />
          )}
          <MultiSelect
            label="Streams"
            description="None: all"
            data={streams}
            value={picked}
            onChange={(value) => setPicked(value)}
          />
          <TitleField value={title} onChange={setTitle} />
        </Columns>
        <Row>
          <Act
            needs="admin"
            disabled={isTaken || name.trim() === "" || (kind !== "file" && address.trim() === "")}
            why={isTaken ? "There is a sink of that name: remove it first, or change it at the command line." : "Name and address are needed."}
            says="Saved"
            run={async () => {
              await ask(
                titled(title).PUT("/api/v1/sinks/{sink}", {
                  params: { path: { sink: name.trim() } },
                  body: {
                    kind,
                    ...(kind === "file" ? {} : { address: address.trim() }),
                    ...(picked.length > 0 ? { streams: picked } : {}),
                    ...(hasHeaders && authorization !== "" ? { headers: { Authorization: authorization } } : {}),
                  },
                }),
              );
              setName("");
              setAddress("");
              setAuthorization("");
              setPicked([]);
              setTitle("");
              changed();
            }}
          >
            Save
          </Act>
        </Row>
      </Stack>
    </Panel>
  );
}
