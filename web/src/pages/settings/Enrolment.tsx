import { NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { IconKey, IconPlugConnected } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { useHasLabel } from "../../api/labels";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { plural, shortID } from "../../ui/format";
import { List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Note, Nothing } from "../../ui/page";
import { enrollKeys, State } from "../../ui/state";
import { Ago, Chip, Command, Faint, Mono, Muted, ShortID, Stacked, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { agentCommand, useFingerprint } from "../devices/agentline";
import { Revocations } from "../devices/Revoke";

type Enrollment = Schemas["Enrollment"];

/** Enrolment is how devices come in by themselves: those that ask, the keys that let them in at once, and who may not. */
export default function Enrolment() {
  return (
    <Stack>
      <Requests />
      <Keys />
      <Revocations />
    </Stack>
  );
}

function Requests() {
  const requests = useQuery(queries.enrollments());
  return (
    <Panel
      title="Devices whose agents ask to be accepted"
      flush
      actions={<Export name="enrolments" rows={() => requests.data ?? []} says="All devices that ask" />}
    >
      <Loads query={requests} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={IconPlugConnected} title="No device asks">
              A device shows here seconds after its agent was started without a key.
            </Nothing>
          ) : (
            <List
              rows={all}
              id={(one) => one.deviceID}
              columns={[
                {
                  title: "Device",
                  cell: (one) => (
                    <Stacked>
                      <Strong>{one.name.slice(0, 200) || "without a name"}</Strong>
                      <ShortID id={one.deviceID} />
                    </Stacked>
                  ),
                },
                {
                  title: "From",
                  cell: (one) => (
                    <Stacked>
                      <span>{one.address}</span>
                      <Faint>{one.system.slice(0, 100)}</Faint>
                    </Stacked>
                  ),
                },
                { title: "Asked first", cell: (one) => <Ago at={one.firstSeen} /> },
                {
                  title: "",
                  right: true,
                  cell: (one) => (one.state === "rejected" ? <Rejected one={one} /> : <Answer one={one} />),
                },
              ]}
            />
          )
        }
      </Loads>
    </Panel>
  );
}

/** useAnswer gives what answers a request, and has the pages read anew. */
function useAnswer(deviceID: string) {
  const client = useQueryClient();
  const params = { path: { deviceID } };
  const then = async (answer: Promise<unknown>) => {
    await answer;
    void client.invalidateQueries();
  };
  return {
    accept: (label: string, tags: string[], title: string) =>
      then(ask(titled(title).POST("/api/v1/enrollments/{deviceID}/accept", { params, body: { label, tags } }))),
    reject: (title: string) => then(ask(titled(title).POST("/api/v1/enrollments/{deviceID}/reject", { params }))),
    forget: (title: string) => then(ask(titled(title).DELETE("/api/v1/enrollments/{deviceID}", { params }))),
  };
}

function Answer({ one }: { one: Enrollment }) {
  const answer = useAnswer(one.deviceID);
  const known = useQuery(queries.tags());
  const [label, setLabel] = useState("");
  const [tags, setTags] = useState<string[]>([]);
  const hasLabel = useHasLabel();
  const name = label.trim() || one.name || shortID(one.deviceID);
  return (
    <Row end nowrap>
      <Act
        needs="admin"
        size="compact-xs"
        says={`${name} is accepted`}
        run={(title) => answer.accept(label.trim(), tags, title)}
        confirm={{
          title: `Accept ${name.slice(0, 60)}?`,
          verb: "Accept",
          body: (
            <Stack>
              <Text>
                The device has proven itself by its own certificate. Compare its ID with the one that its daemon shows:
              </Text>
              <Mono>{one.deviceID}</Mono>
              <TextInput
                label="Label"
                placeholder={one.name.slice(0, 100)}
                error={hasLabel(label.trim()) && "Another device has it: commands could not tell the two apart"}
                value={label}
                onChange={(event) => setLabel(event.currentTarget.value)}
              />
              <TagsInput
                size="xs"
                label="Tags"
                description="The templates with these tags apply as soon as its configuration is read"
                data={known.data ?? []}
                value={tags}
                onChange={setTags}
                maxLength={128}
              />
            </Stack>
          ),
        }}
      >
        Accept…
      </Act>
      <Act
        needs="admin"
        size="compact-xs"
        color="red"
        says={`${name} is rejected`}
        undo={() => answer.forget("")}
        run={answer.reject}
        confirm={{
          title: `Reject ${name.slice(0, 60)}?`,
          verb: "Reject",
          body: <Text>Its agent is turned away until the rejection is forgotten here. The daemon is left as it is.</Text>,
        }}
      >
        Reject…
      </Act>
    </Row>
  );
}

function Rejected({ one }: { one: Enrollment }) {
  const answer = useAnswer(one.deviceID);
  return (
    <Row end>
      <Faint>
        rejected by {one.rejectedBy} <Ago at={one.rejectedAt} />
      </Faint>
      <Act needs="admin" size="compact-xs" says="The device waits again" run={answer.forget}>
        Forget the rejection
      </Act>
    </Row>
  );
}

function Keys() {
  const isAdmin = useMay("admin");
  const keys = useQuery({ ...queries.enrollKeys(), enabled: isAdmin });
  const client = useQueryClient();
  if (!isAdmin) {
    return (
      <Panel title="Enrol keys">
        <Muted>Only an administrator sees and makes enrol keys.</Muted>
      </Panel>
    );
  }
  return (
    <>
      <Panel title="Enrol keys" flush actions={<Export name="enrol-keys" rows={() => keys.data ?? []} says="All enrol keys" />}>
        <Loads query={keys} rows={2}>
          {(all) =>
            all.length === 0 ? (
              <Nothing icon={IconKey} title="No enrol key">
                A key lets devices in at once, with the tags that it has, and does nothing else.
              </Nothing>
            ) : (
              <List
                rows={all}
                id={(key) => key.id}
                columns={[
                  { title: "Key", cell: (key) => <Mono>{key.id}…</Mono> },
                  { title: "State", cell: (key) => <State badges={enrollKeys} state={key.state} /> },
                  { title: "Used", right: true, cell: (key) => `${key.used} of ${key.uses}` },
                  {
                    title: "Tags",
                    cell: (key) =>
                      key.tags.length === 0 ? (
                        <Muted>none</Muted>
                      ) : (
                        <Row>
                          {key.tags.map((tag) => (
                            <Chip key={tag} href={`/tags/${encodeURIComponent(tag)}`}>
                              {tag}
                            </Chip>
                          ))}
                        </Row>
                      ),
                  },
                  { title: "Made by", cell: (key) => key.createdBy },
                  { title: "Ends", cell: (key) => <Ago at={key.expiresAt} /> },
                  { title: "Last used", cell: (key) => <Ago at={key.lastUsedAt} /> },
                  {
                    title: "",
                    right: true,
                    cell: (key) => (
                      <Act
                        needs="admin"
                        size="compact-xs"
                        color="red"
                        says="The key is revoked"
                        run={async (title) => {
                          await ask(
                            titled(title).DELETE("/api/v1/enroll-keys/{enrollKey}", { params: { path: { enrollKey: key.id } } }),
                          );
                          void client.invalidateQueries({ queryKey: ["enroll-keys"] });
                        }}
                        confirm={{
                          title: `Revoke the enrol key ${key.id}?`,
                          verb: "Revoke",
                          body: <Text>No further device comes in by it. Those that did stay.</Text>,
                        }}
                      >
                        Revoke
                      </Act>
                    ),
                  },
                ]}
              />
            )
          }
        </Loads>
      </Panel>
      <Panel title="New enrol key">
        <NewKey />
      </Panel>
    </>
  );
}

const lives: Record<string, number> = { "an hour": 3600, "a day": 86_400, "a week": 7 * 86_400, "30 days": 30 * 86_400 };

/** NewKey makes an enrol key, and shows once the line to type with it. */
export function NewKey() {
  const client = useQueryClient();
  const known = useQuery(queries.tags());
  const fingerprint = useFingerprint();
  const [tags, setTags] = useState<string[]>([]);
  const [uses, setUses] = useState(1);
  const [life, setLife] = useState("a day");
  const [made, setMade] = useState<Schemas["NewEnrollKey"]>();
  const [title, setTitle] = useState("");
  const create = async () => {
    setMade(await ask(titled(title).POST("/api/v1/enroll-keys", { body: { tags, uses, expiresInS: lives[life] ?? 86_400 } })));
    void client.invalidateQueries({ queryKey: ["enroll-keys"] });
  };
  return (
    <Stack>
      <Row>
        <TagsInput
          size="xs"
          w={260}
          label="Tags of its devices"
          data={known.data ?? []}
          value={tags}
          onChange={setTags}
          maxLength={128}
        />
        <NumberInput
          size="xs"
          w={110}
          label="Devices"
          min={1}
          max={10_000}
          allowDecimal={false}
          value={uses}
          onChange={(value) => setUses(Math.max(1, Number(value) || 1))}
        />
        <Select
          label="Ends after"
          w={120}
          data={Object.keys(lives)}
          value={life}
          allowDeselect={false}
          onChange={(value) => setLife(value ?? "a day")}
        />
        <Act needs="admin" run={create}>
          Make an enrol key
        </Act>
      </Row>
      <TitleField value={title} onChange={setTitle} />
      {made && (
        <Note tone="busy">
          <Stack>
            <Text>
              This is shown once. It lets in {plural(made.uses, "device")}. Type it on the machine of the daemon:
            </Text>
            <Command text={agentCommand(fingerprint, made.key)} />
          </Stack>
        </Note>
      )}
    </Stack>
  );
}
