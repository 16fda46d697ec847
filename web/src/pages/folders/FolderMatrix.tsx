import { Autocomplete } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { SearchField } from "../../ui/field";
import { FolderState } from "../../ui/folderstate";
import { folderStates } from "../../ui/folderwords";
import { plural, shortID, size } from "../../ui/format";
import { Panel } from "../../ui/layout";
import { Matrix } from "../../ui/matrix";
import { Loads, Note, Nothing, Page } from "../../ui/page";
import { badgeOf, Share } from "../../ui/state";
import { Clip, Faint, Stacked, To } from "../../ui/text";

type FolderMatrixData = Schemas["FolderMatrix"];

/** FolderMatrix is folders by device: completion and state of each. Which devices are shown is in the address. */
export default function FolderMatrix() {
  const [params, setParams] = useSearchParams();
  const tags = useQuery(queries.tags());
  const [q, tag] = [params.get("q") ?? "", params.get("tag") ?? ""];
  const [asked] = useDebouncedValue({ q, tag: (tags.data ?? []).includes(tag) ? tag : "" }, 300);
  const matrix = useQuery(queries.folderMatrix(asked));
  const set = (name: string, value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return (
    <Page
      wide
      title="Folders by device"
      crumb={{ href: "/folders", text: "Folders" }}
      updatedAt={matrix.dataUpdatedAt}
      sub={
        matrix.data && (
          <span>
            {plural(matrix.data.folders.length, "folder")} on {plural(matrix.data.devices.length, "device")}
          </span>
        )
      }
    >
      <SearchField label="Search devices" value={q} onChange={(text) => set("q", text)}>
        <Autocomplete
          size="xs"
          w={200}
          aria-label="Tag"
          placeholder="All tags"
          data={tags.data ?? []}
          limit={50}
          value={tag}
          onChange={(text) => set("tag", text)}
        />
      </SearchField>
      <Loads query={matrix} rows={8}>
        {(data) => (
          <>
            {(data.moreDevices > 0 || data.moreFolders > 0) && (
              <Note tone="busy">
                {plural(data.moreDevices, "device")} and {plural(data.moreFolders, "folder")} are not shown. Search for a
                device, or choose a tag.
              </Note>
            )}
            <Panel flush>
              {data.folders.length === 0 ? (
                <Nothing icon={IconFolder} title="No folder on these devices">
                  Folders show here once a daemon that the search picks has one.
                </Nothing>
              ) : (
                <Cells data={data} />
              )}
            </Panel>
          </>
        )}
      </Loads>
    </Page>
  );
}

function Cells({ data }: { data: FolderMatrixData }) {
  return (
    <Matrix
      label="Folders by device"
      corner="Folder"
      columns={data.devices.map((device) => ({
        id: device.deviceID,
        title: (
          <To href={`/devices/${device.deviceID}`}>
            <Clip>{device.label || shortID(device.deviceID)}</Clip>
          </To>
        ),
      }))}
      rows={data.folders.map((folder) => ({
        id: folder.folder,
        title: (
          <Stacked>
            <To href={`/folders/${encodeURIComponent(folder.folder)}`}>
              <Clip>{folder.label || folder.folder}</Clip>
            </To>
            <Faint>{folder.folder.slice(0, 60)}</Faint>
          </Stacked>
        ),
        cells: new Map(
          folder.cells.map((cell) => [
            cell.device,
<Cell key={cell.device} cell={cell} />,
          ]),
        ),
      }))}
    />
  );
}

/** Cell is a state, with a percentage where something is known to be missing now. */
function Cell({ cell: { state, completion, needBytes } }: { cell: Schemas["MatrixCell"] }) {
  if (completion === null || completion >= 100) return <FolderState state={state} />;
  const hint = needBytes > 0 ? `${size(needBytes)} missing` : "";
  return <Share badge={badgeOf(folderStates, state)} text={`${completion} %`} hint={hint} />;
}
