import { PasswordInput, Select, TagsInput, TextInput } from "@mantine/core";
import { IconBell, IconBellOff, IconRoute } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { brief } from "../../ui/format";
import { Columns, List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Ago, Chip, Command, Faint, Muted, Stacked, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { titles } from "../waiting/waiting";
import { addressOf, channelBody, channelTypes, inWords, kinds, severities } from "./telling";

type Channel = Schemas["Channel"];

/** Notifications are who is told of problems: channels, the routes to them, and what nobody is told of for a time. */
export default function Notifications() {
  return (
    <Stack>
      <Channels />
      <Routes />
      <Silences />
    </Stack>
  );
}

function useChanged() {
  const client = useQueryClient();
  return () => void client.invalidateQueries();
}

function Channels() {
  const channels = useQuery(queries.channels());
  const isAdmin = useMay("admin");
  const [shown, setShown] = useState("");
  return (
    <>
      <Panel
        title="Channels"
        flush
        actions={<Export name="channels" rows={() => channels.data ?? []} says="All channels, without URLs and secrets" />}
      >
        <Loads query={channels} rows={2}>
          {(all) => (
            <List
              rows={all}
              id={(channel) => channel.name}
              columns={[
                {
                  title: "Channel",
                  cell: (channel) => (
                    <Stacked>
                      <Strong>{channel.name}</Strong>
                      <Faint>{channelTypes[channel.type] ?? "as flags and settings say"}</Faint>
                    </Stacked>
                  ),
                },
                { title: "To", cell: (channel) => brief(addressOf(channel), 80) },
                { title: "Waiting", right: true, cell: (channel) => channel.waiting },
                {
                  title: "State",
                  cell: (channel) =>
                    channel.trouble === "" ? (
                      <Muted>works</Muted>
                    ) : (
                      <Stacked>
                        <Text>{brief(channel.trouble, 200)}</Text>
                        <Faint>
                          since <Ago at={channel.since} />
                        </Faint>
                      </Stacked>
                    ),
                },
                { title: "", right: true, cell: (channel) => <ChannelActs channel={channel} show={setShown} /> },
              ]}
            />
          )}
        </Loads>
      </Panel>
      {shown !== "" && <Log channel={shown} />}
      {isAdmin && (
        <Panel title="New channel, or another address">
          <NewChannel />
        </Panel>
      )}
    </>
  );
}

function ChannelActs({ channel, show }: { channel: Channel; show: (name: string) => void }) {
  const changed = useChanged();
  const params = { path: { channel: channel.name } };
  return (
    <Row end nowrap>
      <Act needs="admin" size="compact-xs" run={() => Promise.resolve(show(channel.name))}>
        Log
      </Act>
      {channel.type !== "default" && (
        <>
          <Act
            needs="admin"
            size="compact-xs"
            says={`${channel.name} accepted a message of trial`}
            run={async () => {
              show("");
              await ask(titled("").POST("/api/v1/channels/{channel}/test", { params })).finally(changed);
            }}
          >
            Send a test
          </Act>
          <Act
            needs="admin"
            size="compact-xs"
            color="red"
            says={`${channel.name} is deleted`}
            run={async (title) => {
              await ask(titled(title).DELETE("/api/v1/channels/{channel}", { params }));
              changed();
            }}
            confirm={{
              title: `Delete the channel ${channel.name}?`,
              verb: "Delete",
              body: <Text>Nothing is sent to it any more, and messages that wait for it are dropped.</Text>,
            }}
          >
            Delete
          </Act>
        </>
      )}
    </Row>
  );
}

function Log({ channel }: { channel: string }) {
  const log = useQuery(queries.deliveries(channel));
  return (
    <Panel
      title={`Last messages to ${channel}`}
      flush
      actions={<Export name={`deliveries-${channel}`} rows={() => log.data ?? []} says="The last 100 messages, with answers" />}
    >
      <Loads query={log} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={IconBell} title="Nothing was sent yet">
              Messages that are sent show here with the answers of the receiver.
            </Nothing>
          ) : (
            <List
              rows={all.map((entry, index) => ({ ...entry, index }))}
              id={(entry) => String(entry.index)}
              columns={[
                { title: "Sent", cell: (entry) => <Ago at={entry.at} /> },
                { title: "Message", cell: (entry) => brief(entry.summary, 200) },
                {
                  title: "Answer",
                  cell: (entry) =>
                    entry.accepted ? <Muted>{brief(entry.answer, 200)}</Muted> : <Text>{brief(entry.answer, 300)}</Text>,
                },
              ]}
            />
          )
        }
      </Loads>
    </Panel>
  );
}

function NewChannel() {
  const changed = useChanged();
  const [name, setName] = useState("");
  const [type, setType] = useState<string>("webhook");
  const [address, setAddress] = useState("");
  const [secret, setSecret] = useState("");
  const [title, setTitle] = useState("");
  const isMail = type === "mail";
  return (
    <Stack>
      <Columns>
        <TextInput
          label="Name of the channel"
          description="Letters a-z, digits and -"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label="Form"
          description="How the receiver understands messages"
          allowDeselect={false}
          data={Object.entries(channelTypes).map(([value, label]) => ({ value, label }))}
          value={type}
          onChange={(to) => setType(to ?? "webhook")}
        />
        {isMail ? (
          <TextInput label="Mail address" value={address} onChange={(event) => setAddress(event.currentTarget.value)} />
        ) : (
          <PasswordInput
            label="URL"
            description="Shown nowhere: it often contains a token"
            autoComplete="off"
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
        )}
        {!isMail && (
          <PasswordInput
            label="Secret"
            description="Shown nowhere; blank: none, or the one that is stored"
            autoComplete="off"
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
          />
        )}
        <TitleField value={title} onChange={setTitle} />
      </Columns>
      <Row>
        <Act
          needs="admin"
          disabled={name.trim() === "" || address.trim() === ""}
          why="Name and address are needed."
          says="Saved"
          run={async () => {
            await ask(
              titled(title).PUT("/api/v1/channels/{channel}", {
                params: { path: { channel: name.trim() } },
                body: channelBody({ type, address, secret }),
              }),
            );
            [setName, setAddress, setSecret, setTitle].forEach((clear) => clear(""));
            changed();
          }}
        >
          Save
        </Act>
      </Row>
    </Stack>
  );
}

function Chips({ names }: { names: string[] }) {
  return (
    <Row>
      {names.map((name) => (
        <Chip key={name}>{name}</Chip>
      ))}
    </Row>
  );
}

function Routes() {
  const routes = useQuery(queries.routes());
  const changed = useChanged();
  const isAdmin = useMay("admin");
  return (
    <>
      <Panel title="Routes" flush actions={<Export name="routes" rows={() => routes.data ?? []} says="All routes" />}>
        <Loads query={routes} rows={2}>
          {(all) =>
            all.length === 0 ? (
              <Nothing icon={IconRoute} title="No route">
                Without a route to it a channel gets nothing, and the receivers of flags and settings get everything.
              </Nothing>
            ) : (
              <List
                rows={all}
                id={(route) => route.name}
                columns={[
                  { title: "Route", cell: (route) => <Strong>{route.name}</Strong> },
                  { title: "Of", cell: (route) => brief(inWords(route), 200) },
                  { title: "To", cell: (route) => <Chips names={route.channels} /> },
                  {
                    title: "How",
                    cell: (route) => (
                      <Stacked>
                        <span>{route.groupBy === "" ? "one message for all" : `a message for each tag ${route.groupBy}…`}</span>
                        <Faint>
                          {route.repeatS > 0 ? `again after ${String(route.repeatS / 60)} min` : "not repeated"}
                          {route.quietFrom !== "" && `, quiet ${route.quietFrom} to ${route.quietTo}`}
                        </Faint>
                      </Stacked>
                    ),
                  },
                  {
                    title: "",
                    right: true,
                    cell: (route) => (
                      <Act
                        needs="admin"
                        size="compact-xs"
                        color="red"
                        says={`${route.name} is deleted`}
                        run={async (title) => {
                          await ask(
                            titled(title).DELETE("/api/v1/routes/{route}", { params: { path: { route: route.name } } }),
                          );
                          changed();
                        }}
                        confirm={{
                          title: `Delete the route ${route.name}?`,
                          verb: "Delete",
                          body: <Text>Its channels stay, and get no more messages by it.</Text>,
                        }}
                      >
                        Delete
                      </Act>
                    ),
                  },
                ]}
              />
            )
          }
        </Loads>
      </Panel>
      {isAdmin && (
        <Panel title="New route, or another in its place">
          <NewRoute />
        </Panel>
      )}
    </>
  );
}

function NewRoute() {
  const changed = useChanged();
  const channels = useQuery(queries.channels());
  const tags = useQuery(queries.tags());
  const [name, setName] = useState("");
  const [lists, setLists] = useState<Record<"channels" | "tags" | "kinds" | "severities" | "folders", string[]>>({
    channels: [],
    tags: [],
    kinds: [],
    severities: [],
    folders: [],
  });
  const [texts, setTexts] = useState({ groupBy: "", repeat: "", quietFrom: "", quietTo: "" });
  const [title, setTitle] = useState("");
  const list = (key: keyof typeof lists, label: string, data: string[]) => (
    <TagsInput
      size="xs"
      label={label}
      description={key === "channels" ? "default: the receivers of flags and settings" : "None: any"}
      data={data}
      value={lists[key]}
      onChange={(value) => setLists({ ...lists, [key]: value })}
    />
  );
  const text = (key: keyof typeof texts, label: string, description: string) => (
    <TextInput
      size="xs"
      label={label}
      description={description}
      value={texts[key]}
      onChange={(event) => setTexts({ ...texts, [key]: event.currentTarget.value })}
    />
  );
  return (
    <Stack>
      <Columns>
        <TextInput
          size="xs"
          label="Name of the route"
          description="Letters a-z, digits and -"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {list("channels", "To the channels", (channels.data ?? []).map((one) => one.name))}
        {list("severities", "Of the severities", [...severities])}
        {list("kinds", "Of the kinds", [...kinds])}
        {list("tags", "Of devices with the tags", tags.data ?? [])}
        {list("folders", "Of the folders", [])}
        {text("groupBy", "A message for each tag that begins with", "For example site: — blank: one message for all")}
        {text("repeat", "Again after minutes", "While it lasts; blank: not repeated")}
        {text("quietFrom", "Quiet from", "Time of the server, for example 22:00; blank: never")}
        {text("quietTo", "Quiet to", "For example 07:00")}
        <TitleField value={title} onChange={setTitle} />
      </Columns>
      <Row>
        <Act
          needs="admin"
          disabled={name.trim() === "" || lists.channels.length === 0}
          why="A name and a channel are needed."
          says="Saved"
          run={async () => {
            const { groupBy, repeat, quietFrom, quietTo } = texts;
            await ask(
              titled(title).PUT("/api/v1/routes/{route}", {
                params: { path: { route: name.trim() } },
                body: {
                  ...lists,
                  kinds: lists.kinds as Schemas["PutRoute"]["kinds"],
                  severities: lists.severities as Schemas["PutRoute"]["severities"],
                  groupBy,
                  repeatS: Math.round(Number(repeat || "0") * 60),
                  quietFrom: quietFrom.trim(),
                  quietTo: quietTo.trim(),
                },
              }),
            );
            setName("");
            setTitle("");
            changed();
          }}
        >
          Save
        </Act>
      </Row>
    </Stack>
  );
}

function Silences() {
  const silences = useQuery(queries.silences());
  const changed = useChanged();
  return (
    <Panel title="Silences" flush actions={<Export name="silences" rows={() => silences.data ?? []} says="All silences" />}>
      <Loads query={silences} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={IconBellOff} title="No silence">
              Everybody is told as usual. On the page of what waits, each trouble has a button Silence, and{" "}
              <Command text="muster silence add --tag site:berlin --until 18:00 --reason move" /> makes one for a site.
            </Nothing>
          ) : (
            <List
              rows={all}
              id={(silence) => silence.id}
              columns={[
                {
                  title: "Nobody is told of",
                  cell: (silence) => (
                    <Stacked>
                      <span>{brief(inWords(silence), 200)}</span>
                      <Faint>{silence.kinds.map((kind) => titles[kind] ?? kind).join(", ")}</Faint>
                    </Stacked>
                  ),
                },
                { title: "Until", cell: (silence) => <Ago at={silence.until} /> },
                { title: "Why", cell: (silence) => brief(silence.reason, 200) || <Muted>no reason given</Muted> },
                { title: "Made by", cell: (silence) => silence.createdBy },
                {
                  title: "",
                  right: true,
                  cell: (silence) => (
                    <Act
                      needs="operator"
                      size="compact-xs"
                      says="The silence is over"
                      run={async (title) => {
                        await ask(
                          titled(title).DELETE("/api/v1/silences/{silence}", { params: { path: { silence: silence.id } } }),
                        );
                        changed();
                      }}
                      confirm={{
                        title: "End the silence now?",
                        verb: "End",
                        body: <Text>What lasts is told then.</Text>,
                      }}
                    >
                      End
                    </Act>
                  ),
                },
              ]}
            />
          )
        }
      </Loads>
    </Panel>
  );
}
