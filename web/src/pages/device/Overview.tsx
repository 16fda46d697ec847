import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { TextInput } from "@mantine/core";
import { IconFolder, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { failed, Act } from "../../ui/act";
import { count, plural, size, span } from "../../ui/format";
import { Fact, Facts, List, Panel, Row, Split, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Ago, Bar, Chip, Clip, Faint, Muted, Stacked, To } from "../../ui/text";
import { completion, foldersOf, folderTypes, type ConfiguredFolder } from "./folders";

const mostFolders = 100;

export function Overview({ id, row }: { id: string; row: InventoryDevice | undefined }) {
  return (
    <Split>
      <Folders id={id} />
      <Stack>
        <Tags id={id} tags={row?.tags ?? []} />
        <About id={id} row={row} />
      </Stack>
    </Split>
  );
}

function Folders({ id }: { id: string }) {
  const config = useQuery(queries.config(id));
  const folders = foldersOf(config.data).slice(0, mostFolders);
  const summaries = useQueries({ queries: folders.map((folder) => queries.folder(folder.id)) });
  const rows = folders.map((folder, i) => ({
    folder,
    summary: summaries[i]?.data?.find((one) => one.device === id),
  }));
  return (
    <Panel title="Folders" flush>
      <Loads query={config}>
        {() =>
          rows.length === 0 ? (
            <Nothing icon={IconFolder} title="No folders">
              This daemon shares nothing yet.
            </Nothing>
          ) : (
            <List
              rows={rows}
              id={({ folder }) => folder.id}
              columns={[
                { title: "Folder", cell: ({ folder }) => <FolderName folder={folder} /> },
                { title: "Type", cell: ({ folder }) => <Muted>{folderTypes[folder.type] ?? folder.type}</Muted> },
                {
                  title: "Progress",
                  cell: ({ folder, summary }) =>
                    folder.paused ? (
                      <Muted>Paused</Muted>
                    ) : summary ? (
                      <Stacked>
                        <span>{completion(summary)} %</span>
                        <Bar value={completion(summary)} label={`Progress of ${folder.label || folder.id}`} />
                      </Stacked>
                    ) : (
                      <Muted>Not known</Muted>
                    ),
                },
                {
                  title: "To go",
                  right: true,
                  cell: ({ summary }) => (summary && summary.needBytes > 0 ? size(summary.needBytes) : <Muted>0</Muted>),
                },
                {
                  title: "Size",
                  right: true,
                  cell: ({ summary }) =>
                    summary ? (
                      <Stacked>
                        <span>{size(summary.globalBytes)}</span>
                        <Faint>{plural(summary.globalFiles, "file")}</Faint>
                      </Stacked>
                    ) : (
                      ""
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
    </Stacked>
  );
}

/** Tags of the device. What comes and goes with a tag shows in the plan at once, so that it can be taken back. */
export function Tags({ id, tags }: { id: string; tags: string[] }) {
  const client = useQueryClient();
  const may = useMay("operator");
  const [tag, setTag] = useState("");
  const change = async (act: Promise<unknown>) => {
    await act;
    void client.invalidateQueries();
  };
  const path = (of: string) => ({ params: { path: { deviceID: id, tag: of } } });
  return (
    <Panel title="Tags">
      <Stack>
        <Row>
          {tags.length === 0 && <Muted>None: no template applies to this device.</Muted>}
          {tags.map((one) => (
            <span key={one} className="u-chip">
              <span title={one}>{one}</span>
              {may && (
                <button
                  type="button"
                  aria-label={`Remove the tag ${one}`}
                  onClick={() => {
                    change(ask(api.DELETE("/api/v1/devices/{deviceID}/tags/{tag}", path(one)))).catch(failed);
                  }}
                >
                  <IconX size={12} aria-hidden />
                </button>
              )}
            </span>
          ))}
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
            disabled={tag.trim() === ""}
            why="Name the tag."
            run={async () => {
              await change(ask(api.PUT("/api/v1/devices/{deviceID}/tags/{tag}", path(tag.trim()))));
              setTag("");
            }}
          >
            Add
          </Act>
        </Row>
      </Stack>
    </Panel>
  );
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
          <Ago at={row?.lastSeen} />
        </Fact>
        <Fact name="Syncthing">{row?.version || <Muted>not known</Muted>}</Fact>
        <Fact name="System">{[row?.os, row?.arch].filter(Boolean).join(" ") || <Muted>not known</Muted>}</Fact>
        {status.data && (
          <>
            <Fact name="Running for">{span(status.data.uptime * 1000)}</Fact>
            <Fact name="Memory">{`${size(status.data.alloc)} of ${size(status.data.sys)}`}</Fact>
            <Fact name="Goroutines">{count(status.data.goRoutines)}</Fact>
            <Fact name="Home">{status.data.tilde}</Fact>
            <Fact name="Told">
              <Ago at={status.data.updatedAt} />
            </Fact>
          </>
        )}
      </Facts>
    </Panel>
  );
}
