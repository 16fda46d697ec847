import { Button, MultiSelect } from "@mantine/core";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { lackOfAll, unknownOn } from "../../ui/folderfigures";
import { FolderState } from "../../ui/folderstate";
import { folderStates, placeOf, tally } from "../../ui/folderwords";
import { count, plural, size } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { sortedBy } from "../../ui/order";
import { Loads, Nothing, Page } from "../../ui/page";
import { matches } from "../../ui/search";
import { SearchField } from "../../ui/field";
import { Faint, Muted, Stacked, Strong, To } from "../../ui/text";
import { OneSidedFolders } from "./Sharing";

const most = 500; // folders that are shown at once

/** Folders are all folders of the fleet, and how far their devices are. */
export default function Folders() {
  const [params, setParams] = useSearchParams();
  const [search, setSearch] = useState("");
  const states = params.getAll("state");
  const [comparing, setComparing] = useState(false);
  const isAuthor = useMay("author");
  const folders = useQuery(queries.folderOverviews());
  const found = (folders.data ?? []).filter(
    ({ folder, label, state, devices }) =>
      (states.length === 0 || states.some((one) => one === state || (devices[one] ?? 0) > 0)) && matches(search, [folder, label]),
  );
  const rows = sortedBy(found, ({ state }) => placeOf(state)).slice(0, most);
  return (
    <Page
      title="Folders"
      updatedAt={folders.dataUpdatedAt}
      actions={
        <>
          <To href="/folder-matrix">By device</To>
          {isAuthor && <To href="/templates/share">Share a folder</To>}
          <Button variant="default" aria-pressed={comparing} onClick={() => setComparing(!comparing)}>
            Shares with one side only
          </Button>
        </>
      }
      sub={folders.data && <span>{plural(folders.data.length, "folder")}</span>}
    >
      <SearchField label="Search folders" value={search} onChange={setSearch}>
        <MultiSelect
          size="xs"
          w={260}
          aria-label="States"
          placeholder={states.length === 0 ? "In any state on a device" : undefined}
          data={Object.entries(folderStates).map(([value, { word }]) => ({ value, label: word }))}
          value={states}
          onChange={(chosen) => setParams(new URLSearchParams(chosen.map((state) => ["state", state])), { replace: true })}
          clearable
        />
      </SearchField>
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
                    by: ({ folder, label }) => label || folder,
                  },
                  {
                    title: "State",
                    cell: ({ state }) => <FolderState state={state} />,
                    by: ({ state }) => placeOf(state),
                  },
                  {
                    title: "On its devices",
                    cell: ({ devices }) => (
                      <Stacked>
                        <span>{`${count(devices.upToDate ?? 0)} of ${plural(devices.all ?? 0, "device")} up to date`}</span>
                        <Faint>{tally({ ...devices, upToDate: 0 })}</Faint>
                      </Stacked>
                    ),
                    by: ({ devices }) => (devices.all ?? 0) - (devices.upToDate ?? 0),
                  },
                  {
                    title: "Size",
                    right: true,
                    cell: ({ globalBytes }) => size(globalBytes),
                    by: ({ globalBytes }) => globalBytes,
                  },
                  {
                    title: "Missing, in all",
                    right: true,
                    cell: (folder) => <Missing folder={folder} />,
                    by: ({ needBytes }) => needBytes,
                  },
                ]}
              />
              {found.length > most && <Faint>Search to see the other {found.length - most}.</Faint>}
              {found.length === 0 && <Nothing title="No folder matches">Search for another label or ID, or choose other states.</Nothing>}
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}

/** Missing is what all devices lack together, and on how many of them that is not known. */
function Missing({ folder }: { folder: Schemas["FolderOverview"] }) {
  const lack = lackOfAll(folder);
  const unknown = unknownOn(folder);
  return (
    <Stacked>
      {lack && (folder.needBytes > 0 ? <Strong>{lack}</Strong> : <Muted>{lack}</Muted>)}
      {unknown && <Faint>{unknown}</Faint>}
    </Stacked>
  );
}
