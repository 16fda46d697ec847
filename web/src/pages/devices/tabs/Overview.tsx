import { useQuery, useQueryClient } from "@tanstack/react-query";
import { TextInput } from "@mantine/core";
import { IconFolder, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../../api/client";
import type { InventoryDevice } from "../../../api/inventory";
import { queries } from "../../../api/queries";
import { whatIf } from "../../../api/whatif";
import { Act, done } from "../../../ui/act";
import { Export } from "../../../ui/export";
import { Connected, FolderFigures, FolderWhy, Whole } from "../../../ui/folderstate";
import { placeOf } from "../../../ui/folderwords";
import { count, shortID, size, span } from "../../../ui/format";
import { Fact, Facts, List, Panel, Row, Split, Stack } from "../../../ui/layout";
import { sortedBy } from "../../../ui/order";
import { Loads, Nothing } from "../../../ui/page";
import { Few } from "../../../ui/tags";
import { Ago, Chip, Clip, Faint, Muted, Stacked, To } from "../../../ui/text";
import { Effect } from "../../whatif/Effect";
import { Kept } from "../../events/Kept";
import { Orders } from "../../orders/Orders";
import { AtRisk } from "../AtRisk";
import { Disks } from "../Disks";
import { foldersOf, folderTypes, type ConfiguredFolder } from "../../folders/folders";

const mostFolders = 100;

export function Overview({ id, row }: { id: string; row: InventoryDevice | undefined }) {
  return (
    <Split>
      <Stack>
        <Folders id={id} />
        <Disks id={id} />
        <AtRisk id={id} />
        <Kept about={{ device: id, limit: 20 }} />
      </Stack>
      <Stack>
        <Tags id={id} tags={row?.tags ?? []} />
        <About id={id} row={row} />
        <Orders target={{ deviceID: id }} />
      </Stack>
    </Split>
  );
}

function Folders({ id }: { id: string }) {
  const config = useQuery(queries.config(id));
  const folders = foldersOf(config.data).slice(0, mostFolders);
  const told = useQuery(queries.deviceFolders(id));
  const state = useQuery(queries.device(id));
  const standings = new Map((told.data ?? []).map((one) => [one.folder, one]));
  const rows = sortedBy(
    folders.map((folder) => ({ folder, standing: standings.get(folder.id) })),
    ({ standing }) => placeOf(standing?.state ?? "unknown"),
  );
  return (
    <Panel
      title="Folders"
      flush
      actions={<Export name={`folders-of-${shortID(id)}`} rows={() => rows.map(({ folder, standing }) => ({ ...folder, ...standing }))} says="All folders of the device" />}
    >
      <Loads query={config}>
        {() =>
          rows.length === 0 ? (
            <Nothing icon={IconFolder} title="No folders">
              This daemon shares nothing yet.
            </Nothing>
          ) : (
            <List
              kept="folders-sort"
              rows={rows}
              id={({ folder }) => folder.id}
              columns={[
                {
                  title: "Folder",
                  cell: ({ folder }) => <FolderName folder={folder} />,
                  by: ({ folder }) => folder.label || folder.id,
                },
                {
                  title: "State",
                  cell: ({ standing }) => standing ? <FolderWhy standing={standing} told={state.data?.folders?.next} /> : <Muted>Not known</Muted>,
                  by: ({ standing }) => placeOf(standing?.state ?? "unknown"),
                },
                {
                  title: "How far",
                  by: ({ standing }) => standing?.needBytes ?? 0,
                  cell: ({ folder, standing }) =>
                    standing && <FolderFigures standing={standing} name={folder.label || folder.id} />,
                },
                {
                  title: "Connected",
                  right: true,
                  cell: ({ standing }) =>
                    standing && (
                      <Stacked>
                        <Connected standing={standing} />
                        <Faint>
                          <Whole standing={standing} />
                        </Faint>
                      </Stacked>
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

function FolderName({ folder }: { folder: ConfiguredFolder }) {
  return (
    <Stacked>
      <To href={`/folders/${encodeURIComponent(folder.id)}`}>
        <Clip>{folder.label || folder.id}</Clip>
      </To>
      <Faint>{folder.path.slice(0, 200)}</Faint>
      <Faint>{folderTypes[folder.type] ?? folder.type}</Faint>
    </Stacked>
  );
}

/** Tags of the device. What comes and goes with a tag shows before it is stored. */
function Tags({ id, tags }: { id: string; tags: string[] }) {
  const client = useQueryClient();
  const [tag, setTag] = useState("");
  const name = tag.trim();
  const path = (of: string) => ({ params: { path: { deviceID: id, tag: of } } });
  const put = async (of: string, title: string) => {
    await ask(titled(title).PUT("/api/v1/devices/{deviceID}/tags/{tag}", path(of)));
    void client.invalidateQueries();
  };
  const remove = async (of: string, title: string) => {
    await ask(titled(title).DELETE("/api/v1/devices/{deviceID}/tags/{tag}", path(of)));
    void client.invalidateQueries();
  };
  const added = { tags: { added: [{ tag: name, device: id }] } };
  return (
    <Panel title="Tags">
      <Stack>
        {tags.length === 0 && <Muted>None: no template applies to this device.</Muted>}
        <Row>
          <Few all={tags} word="tag">
            {(one) => (
              <span key={one} className="u-joined">
                <Chip href={`/tags/${encodeURIComponent(one)}`}>{one}</Chip>
                <Act
                  needs="operator"
                  size="compact-xs"
                  variant="subtle"
                  color="gray"
                  says={`The tag ${one} is off this device`}
                  undo={() => put(one, "")}
                  run={(title) => remove(one, title)}
                  confirm={{
                    title: `Take the tag ${one.slice(0, 60)} off this device?`,
                    verb: "Take it off",
                    body: <Planned changes={{ tags: { removed: [{ tag: one, device: id }] } }} />,
                  }}
                >
                  <IconX size={12} aria-hidden />
                  <span className="u-skip">Remove the tag {one.slice(0, 60)}</span>
                </Act>
              </span>
            )}
          </Few>
        </Row>
        <Row nowrap>
          <TextInput
            aria-label="New tag"
            placeholder="New tag"
            maxLength={128}
            value={tag}
            onChange={(event) => setTag(event.currentTarget.value)}
          />
          <Act
            needs="operator"
            disabled={name === ""}
            why="Name the tag."
            run={async (title) => {
              await put(name, title);
              done(`The tag ${name} is on this device`).undo(() => remove(name, ""));
              setTag("");
            }}
            confirm={{
              title: `Put the tag ${name.slice(0, 60)} on this device?`,
              verb: "Add the tag",
              body: <Planned changes={added} />,
            }}
          >
            Add
          </Act>
        </Row>
      </Stack>
    </Panel>
  );
}

/** Planned is what a change would do, before it is stored. */
function Planned({ changes }: { changes: Schemas["WhatIf"] }) {
  const plan = useQuery(whatIf(changes));
  return <Loads query={plan}>{(data) => <Effect plan={data} />}</Loads>;
}

function About({ id, row }: { id: string; row: InventoryDevice | undefined }) {
  const status = useQuery(queries.deviceStatus(id));
  return (
    <Panel title="About">
      <Facts>
        <Fact name="Address">
          {row?.address || <Muted>none known</Muted>} {row?.foundBy && <Chip>{row.foundBy}</Chip>}
        </Fact>
        <Fact name="Last seen">
          {row?.connection === "online" ? "now" : <Ago at={row?.lastSeen} />}
        </Fact>
        <Fact name="Syncthing">{row?.version || <Muted>not known</Muted>}</Fact>
        <Fact name="System">{[row?.os, row?.arch].filter(Boolean).join(" ") || <Muted>not known</Muted>}</Fact>
        {status.data && (
          <>
            <Fact name="Running for">{span(status.data.uptime * 1000)}</Fact>
            <Fact name="Memory">{`${size(status.data.alloc)} of ${size(status.data.sys)}`}</Fact>
            <Fact name="Goroutines">{count(status.data.goRoutines)}</Fact>
            <Fact name="Home">{status.data.tilde}</Fact>
            <Fact name="Read">
              <Ago at={status.data.updatedAt} />
            </Fact>
          </>
        )}
      </Facts>
    </Panel>
  );
}
