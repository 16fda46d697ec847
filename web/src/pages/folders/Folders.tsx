import { Button } from "@mantine/core";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Export } from "../../ui/export";
import { lackOfAll, unknownOn } from "../../ui/folderfigures";
import { FolderState } from "../../ui/folderstate";
import { placeOf, tally } from "../../ui/folderwords";
import { count, plural, size } from "../../ui/format";
import { List, Panel, type Order } from "../../ui/layout";
import { sortedBy } from "../../ui/order";
import { Loads, Nothing, Page } from "../../ui/page";
import { usePart } from "../../ui/pager";
import { matches } from "../../ui/search";
import { SearchField } from "../../ui/field";
import { Filters } from "../../ui/filters";
import { ButtonTo, Faint, Muted, Stacked, Strong, To } from "../../ui/text";
import { StateFilter } from "./Filters";
import { OneSidedFolders } from "./Sharing";

type Overview = Schemas["FolderOverview"];

/** sorters are the orders of all folders, of which one page shows. */
const sorters: Record<string, (folder: Overview) => number | string> = {
  folder: ({ folder, label }) => label || folder,
  state: ({ state }) => placeOf(state),
  devices: ({ devices }) => (devices.all ?? 0) - (devices.upToDate ?? 0),
  size: ({ globalBytes }) => globalBytes,
  missing: ({ needBytes }) => needBytes,
};
const worstFirst = ({ state }: Overview) => placeOf(state);

/** Folders are all folders of the fleet, and how far their devices are. */
export default function Folders() {
  const [params, setParams] = useSearchParams();
  const search = params.get("q") ?? "";
  const states = params.getAll("state");
  const change = (q: string, chosen: string[]) =>
    setParams(new URLSearchParams([...(q ? [["q", q]] : []), ...chosen.map((state) => ["state", state])]), { replace: true });
  const [comparing, setComparing] = useState(false);
  const isAuthor = useMay("author");
  const folders = useQuery(queries.folderOverviews());
  const found = (folders.data ?? []).filter(
    ({ folder, label, state, devices }) =>
      (states.length === 0 || states.some((one) => one === state || (devices[one] ?? 0) > 0)) && matches(search, [folder, label]),
  );
  const [order, setOrder] = useState<Order>();
  const sorted = sortedBy(sortedBy(found, worstFirst), sorters[order?.by ?? "state"] ?? worstFirst, order?.descending);
  const { part, pager } = usePart(sorted, "folders");
  return (
    <Page
      title="Folders"
      updatedAt={folders.dataUpdatedAt}
      actions={
        <>
          <ButtonTo href="/folder-matrix">By device</ButtonTo>
                    <Button variant="default" aria-pressed={comparing} onClick={() => setComparing(!comparing)}>
            Shares with one side only
          </Button>
          <Export name="folders" rows={() => sorted} />
          {isAuthor && (
            <ButtonTo href="/templates/share" icon={IconFolder}>
              Share a folder
            </ButtonTo>
          )}
        </>
      }
      sub={folders.data && <span>{plural(folders.data.length, "folder")}</span>}
    >
      <SearchField label="Search folders" value={search} onChange={(q) => change(q, states)}>
        <StateFilter
          label="States"
          placeholder="In any state on a device"
          states={states}
          onChange={(chosen) => change(search, chosen)}
        />
        <Filters page="folders" />
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
                rows={part}
                {...(order ? { order } : {})}
                onOrder={setOrder}
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
                    order: "folder",
                  },
                  {
                    title: "State",
                    cell: ({ state }) => <FolderState state={state} />,
                    order: "state",
                  },
                  {
                    title: "On its devices",
                    cell: ({ devices }) => (
                      <Stacked>
                        <span>{`${count(devices.upToDate ?? 0)} of ${plural(devices.all ?? 0, "device")} up to date`}</span>
                        <Faint>{tally({ ...devices, upToDate: 0 })}</Faint>
                      </Stacked>
                    ),
                    order: "devices",
                  },
                  {
                    title: "Size",
                    right: true,
                    cell: ({ globalBytes }) => size(globalBytes),
                    order: "size",
                  },
                  {
                    title: "Missing, in all",
                    right: true,
                    cell: (folder) => <Missing folder={folder} />,
                    order: "missing",
                  },
                ]}
              />
              {pager}
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
