import { Button } from "@mantine/core";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { queries } from "../api/queries";
import { count, plural, size } from "../ui/format";
import { List, Panel, Row } from "../ui/layout";
import { Loads, Nothing, Page } from "../ui/page";
import { matches } from "../ui/search";
import { SearchField } from "../ui/field";
import { Bar, Faint, Muted, Stacked, Strong, To } from "../ui/text";
import { OneSidedFolders } from "./Sharing";

const most = 500; // folders that are shown at once

/** Folders are all folders of the fleet, and how far their devices are. */
export default function Folders() {
  const [search, setSearch] = useState("");
  const [comparing, setComparing] = useState(false);
  const folders = useQuery(queries.folderOverviews());
  const found = (folders.data ?? []).filter((one) => matches(search, [one.folder, one.label]));
  const rows = found.slice(0, most);
  return (
    <Page
      title="Folders"
      updatedAt={folders.dataUpdatedAt}
      actions={
        <>
          <To href="/folder-matrix">By device</To>
          <Button variant="default" aria-pressed={comparing} onClick={() => setComparing(!comparing)}>
            Shares with one side only
          </Button>
        </>
      }
      sub={folders.data && <span>{plural(folders.data.length, "folder")}</span>}
    >
      <SearchField label="Search folders" value={search} onChange={setSearch} />
      {comparing && <OneSidedFolders search={search} />}
      <Loads query={folders}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Nothing icon={IconFolder} title="No folder yet">
                Folders show here once a managed daemon has one.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <List
                rows={rows}
                id={({ folder }) => folder}
                columns={[
                  {
                    title: "Folder",
                    cell: ({ folder, label }) => (
                      <Stacked>
                        <To href={`/folders/${encodeURIComponent(folder)}`}>
                          {label.slice(0, 200) || folder.slice(0, 200)}
                        </To>
                        <Faint>{folder.slice(0, 200)}</Faint>
                      </Stacked>
                    ),
                  },
                  {
                    title: "In sync",
                    cell: ({ folder, label, devices, inSync }) => (
                      <Stacked>
                        <span>{`${inSync} of ${plural(devices, "device")}`}</span>
                        <Bar
                          value={devices === 0 ? 0 : Math.floor((inSync / devices) * 100)}
                          label={`Devices in sync of ${label || folder}`}
                        />
                      </Stacked>
                    ),
                  },
                  { title: "Otherwise", cell: (row) => <Otherwise row={row} /> },
                  { title: "Size", right: true, cell: ({ globalBytes }) => size(globalBytes) },
                  {
                    title: "To go, in all",
                    right: true,
                    cell: ({ needBytes }) => (needBytes > 0 ? <Strong>{size(needBytes)}</Strong> : <Muted>0</Muted>),
                  },
                ]}
              />
              {found.length > most && <Faint>Search to see the other {found.length - most}.</Faint>}
              {found.length === 0 && <Nothing title="No folder matches">Search for a label or an ID.</Nothing>}
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}

/** Otherwise is how many devices are not in sync, and why. */
function Otherwise({ row }: { row: Schemas["FolderOverview"] }) {
  const { inError, outOfSync, unknown } = row;
  if (inError + outOfSync + unknown === 0) return <Muted>none</Muted>;
  return (
    <Row>
      {inError > 0 && <Strong>{count(inError)} in error</Strong>}
      {outOfSync > 0 && <span>{count(outOfSync)} behind</span>}
      {unknown > 0 && <Muted>{count(unknown)} unknown</Muted>}
    </Row>
  );
}
