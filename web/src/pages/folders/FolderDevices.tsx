import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { api } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import type { FolderStanding } from "../../api/folderstanding";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { SearchField } from "../../ui/field";
import { Filters } from "../../ui/filters";
import { Connected, FolderFigures, FolderWhy, Whole } from "../../ui/folderstate";
import { brief, shortID } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Pager, usePlaces } from "../../ui/pager";
import { rangeText } from "../../ui/range";
import { connections, State } from "../../ui/state";
import { Faint, Stacked, To } from "../../ui/text";
import { StateFilter, TagFilter } from "./Filters";
import { devicesAtOnce, folderQuery, isPicked, readFolderFilter, writeFolderFilter, type FolderFilter } from "./folderdevices";
import { folderTypes } from "./folders";

const nameOf = ({ deviceID, label }: FolderStanding) => brief(label, 200) || shortID(deviceID);

/**
 * FolderDevices are the devices that have a folder, a page at a time: search, filters and order are in the address, and
 * the server picks. all is how many devices have the folder.
 */
export function FolderDevices({ folder, all, told }: { folder: string; all: number | undefined; told: string | undefined }) {
  const [params, setParams] = useSearchParams();
  const filter = readFolderFilter(params);
  const address = writeFolderFilter(filter).toString();
  const [asked] = useDebouncedValue(address, 300);
  const tags = useQuery(queries.tags());
  const places = usePlaces(asked);
  const late = readFolderFilter(new URLSearchParams(asked));
  const page = useQuery(queries.folderDevices(folder, folderQuery(late, places.after)));
  const change = (next: Partial<FolderFilter>) => setParams(writeFolderFilter({ ...filter, ...next }), { replace: true });
  const isWorstFirst = filter.sort === "state" && filter.descending;
  return (
    <>
      <SearchField label="Search devices" value={filter.q} onChange={(q) => change({ q })}>
        <StateFilter
          label="States"
          placeholder="In any state"
          states={filter.states}
          onChange={(states) => change({ states })}
        />
        <TagFilter tags={tags.data ?? []} tag={filter.tag} onChange={(tag) => change({ tag })} />
        <Filters page="folder" />
      </SearchField>
      <Loads query={page}>
        {({ data, after }) => (
          <Panel
            flush
            title={isWorstFirst ? "Devices, those with the worst state first" : "Devices"}
            actions={<Export name={`devices-of-${folder}`} rows={() => everyDevice(folder, late)} />}
          >
            <Rows
              folder={folder}
              rows={data}
              told={told}
              order={{ by: filter.sort, descending: filter.descending }}
              onOrder={({ by, descending }) => change({ sort: by, descending })}
            />
            {data.length === 0 && <Nothing title="No device matches">Search for another label or ID, or choose another tag or other states.</Nothing>}
            <Pager
              what="devices"
              range={rangeText(places.number * devicesAtOnce, data.length, isPicked(late) ? undefined : all)}
              previous={places.number > 0 ? places.previous : undefined}
              next={after && !page.isPlaceholderData ? () => places.next(after) : undefined}
            />
          </Panel>
        )}
      </Loads>
    </>
  );
}

/** everyDevice reads all devices that a filter picks. */
function everyDevice(folder: string, filter: FolderFilter) {
  return everyPage((after) =>
    api.GET("/api/v1/folders/{folderID}/devices", {
      params: { path: { folderID: folder }, query: { ...folderQuery(filter, after), limit: mostAtOnce } },
    }),
  );
}

function Rows({
  folder,
  rows,
  told,
  order,
  onOrder,
}: {
  folder: string;
  rows: FolderStanding[];
  told: string | undefined;
  order: { by: string; descending: boolean };
  onOrder: (order: { by: string; descending: boolean }) => void;
}) {
  return (
    <List
      rows={rows}
      id={(one) => one.deviceID}
      order={order}
      onOrder={onOrder}
      columns={[
        { title: "Device", cell: (one) => <Device standing={one} />, order: "label" },
        { title: "State", cell: (one) => <FolderWhy standing={one} told={told} />, order: "state" },
        {
          title: "How far",
          cell: (one) => <FolderFigures standing={one} name={`${folder} on ${nameOf(one)}`} />,
          order: "needBytes",
        },
        { title: "Connected", right: true, cell: (one) => <Connected standing={one} />, order: "connected" },
        { title: "Size", right: true, cell: (one) => <Whole standing={one} /> },
      ]}
    />
  );
}

function Device({ standing }: { standing: FolderStanding }) {
  const { connection } = standing;
  return (
    <Stacked>
      <To href={`/devices/${standing.deviceID}`}>{nameOf(standing)}</To>
      {connection !== "" && connection !== "online" && <State badges={connections} state={connection} />}
      <Faint>{folderTypes[standing.type] ?? standing.type}</Faint>
    </Stacked>
  );
}
