import { NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { api, ask, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { SearchField } from "../../ui/field";
import { Filters } from "../../ui/filters";
import { FolderState } from "../../ui/folderstate";
import { folderStates } from "../../ui/folderwords";
import { plural, shortID, size } from "../../ui/format";
import { Panel } from "../../ui/layout";
import { Matrix } from "../../ui/matrix";
import { Loads, Nothing, Page } from "../../ui/page";
import { Pager } from "../../ui/pager";
import { rangeText } from "../../ui/range";
import { badgeOf, Share } from "../../ui/state";
import { Clip, Faint, Stacked, To } from "../../ui/text";
import { StateFilter, TagFilter } from "./Filters";
import {
  cellsOf,
  devicesOfMatrix,
  foldersOfMatrix,
  matrixQuery,
  mostDevices,
  mostFolders,
  readMatrixFilter,
  writeMatrixFilter,
  type MatrixFilter,
} from "./matrixquery";

type FolderMatrixData = Schemas["FolderMatrix"];

const orders = [
  { value: "label", label: "Devices by name" },
  { value: "-folderState", label: "Worst folders first" },
  { value: "-needBytes", label: "Most missing first" },
  { value: "lastSeen", label: "Longest not seen first" },
];

/**
 * FolderMatrix is folders by device: completion and state of each. It reads and draws the part that shows; which one
 * that is, is in the address.
 */
export default function FolderMatrix() {
  const [params, setParams] = useSearchParams();
  const tags = useQuery(queries.tags());
  const filter = readMatrixFilter(params);
  const [asked] = useDebouncedValue(writeMatrixFilter(filter).toString(), 300);
  const late = readMatrixFilter(new URLSearchParams(asked));
  const matrix = useQuery(queries.folderMatrix(matrixQuery(late)));
  const change = (next: Partial<MatrixFilter>) =>
    setParams(writeMatrixFilter({ ...filter, from: 0, fromFolder: 0, ...next }), { replace: true });
  return (
    <Page
      wide
      title="Folders by device"
      crumb={{ href: "/folders", text: "Folders" }}
      updatedAt={matrix.dataUpdatedAt}
      actions={<Export name="folders-by-device" rows={() => everyCell(late)} />}
      sub={
        matrix.data && (
          <span>
            {plural(matrix.data.matchedFolders, "folder")} on {plural(matrix.data.devices.length, "device")} of{" "}
            {plural(matrix.data.matchedDevices, "device")}
          </span>
        )
      }
    >
      <SearchField label="Search devices" value={filter.q} onChange={(q) => change({ q })}>
        <TextInput
          size="xs"
          w={200}
          placeholder="Search folders"
          aria-label="Search folders"
          value={filter.folder}
          onChange={({ currentTarget: { value } }) => change({ folder: value })}
        />
        <StateFilter
          label="States of folders"
          placeholder="Devices in any state"
          states={filter.states}
          onChange={(states) => change({ states })}
        />
        <TagFilter tags={tags.data ?? []} tag={filter.tag} onChange={(tag) => change({ tag })} />
        <NativeSelect
          size="xs"
          aria-label="Order of devices"
          value={filter.sort}
          data={orders}
          onChange={({ currentTarget: { value } }) => change({ sort: value })}
        />
        <Filters page="folder-matrix" />
      </SearchField>
      <Loads query={matrix} rows={8}>
        {(data) => (
          <Panel flush>
            {data.folders.length === 0 ? (
              <Nothing icon={IconFolder} title="No folder on these devices">
                Folders show here once a daemon that the search picks has one.
              </Nothing>
            ) : (
              <Cells data={data} />
            )}
            <Pager
              what="devices"
              range={rangeText(late.from, data.devices.length, data.matchedDevices)}
              previous={late.from > 0 ? () => change({ from: Math.max(0, late.from - devicesOfMatrix) }) : undefined}
              next={
                late.from + data.devices.length < data.matchedDevices
                  ? () => change({ from: late.from + devicesOfMatrix })
                  : undefined
              }
            />
            <Pager
              what="folders"
              range={rangeText(late.fromFolder, data.folders.length, data.matchedFolders)}
              previous={
                late.fromFolder > 0
                  ? () => change({ from: late.from, fromFolder: Math.max(0, late.fromFolder - foldersOfMatrix) })
                  : undefined
              }
              next={
                late.fromFolder + data.folders.length < data.matchedFolders
                  ? () => change({ from: late.from, fromFolder: late.fromFolder + foldersOfMatrix })
                  : undefined
              }
            />
          </Panel>
        )}
      </Loads>
    </Page>
  );
}

/** everyCell reads all cells that a filter picks: one row for each folder on each device. */
async function everyCell(filter: MatrixFilter) {
  const all: object[] = [];
  for (let from = 0; ; ) {
    let page: FolderMatrixData | undefined;
    for (let fromFolder = 0; !page || fromFolder < page.matchedFolders; fromFolder += mostFolders) {
      const query = { ...matrixQuery({ ...filter, from, fromFolder }), limit: mostDevices, folderLimit: mostFolders };
      page = await ask(api.GET("/api/v1/overview/matrix", { params: { query } }));
      all.push(...cellsOf(page));
    }
    from += page.devices.length;
    if (page.devices.length === 0 || from >= page.matchedDevices) return all;
  }
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
        cells: new Map(folder.cells.map((cell) => [cell.device, <Cell key={cell.device} cell={cell} />])),
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
