import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FolderStanding } from "../../api/folderstanding";
import { inventory, type InventoryDevice } from "../../api/inventory";
import type { Schemas } from "../../api/client";
import { useLabels } from "../../api/labels";
import { queries } from "../../api/queries";
import { SearchField } from "../../ui/field";
import { Connected, FolderFigures, FolderState, FolderWhy, Whole } from "../../ui/folderstate";
import { lackOfAll, unknownOn } from "../../ui/folderfigures";
import { folderStates, placeOf, tally } from "../../ui/folderwords";
import { brief, count, decoded, plural, sentence, shortID, size } from "../../ui/format";
import { List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { matches } from "../../ui/search";
import { badgeOf, connections, State } from "../../ui/state";
import { Ago, Chip, Faint, Muted, Prose, Stacked, Strong, To } from "../../ui/text";
import { Kept } from "../events/Kept";
import { Named } from "../whatif/Effect";
import { Behind } from "./Behind";
import { Conflicts } from "./Conflicts";
import { CopiesOf } from "./Copies";
import { Figures } from "./Figures";
import { FailedItems } from "./FailedItems";
import { FileSearch } from "./FileSearch";
import { Sharing } from "./Sharing";
import { folderTypes } from "./folders";
import { worstFirst } from "./order";

const most = 200; // devices that are shown at once

/** Folder is one folder on all devices that share it: how it is in the fleet, on which device it is not, and why. */
export default function Folder({ id }: { id: string }) {
  const folderID = decoded(id);
  const fleet = useQuery(queries.folderState(folderID));
  const devices = useQuery(queries.folderDevices(folderID));
  const labels = useLabels();
  return (
    <Page
      title={fleet.data?.label || folderID}
      crumb={{ href: "/folders", text: "Folders" }}
      updatedAt={devices.dataUpdatedAt}
      sub={
        <>
          {fleet.data && <FolderState state={fleet.data.state} filled />}
          <Chip>{folderID}</Chip>
        </>
      }
    >
      <Loads query={fleet} rows={2}>
        {(data) => <InFleet folder={data} standings={devices.data ?? []} labels={labels} />}
      </Loads>
      <FileSearch folder={folderID} />
      {fleet.data && devices.data && <Behind folder={fleet.data} standings={devices.data} />}
      <Loads query={devices}>{(all) => <Devices folder={folderID} all={all} told={fleet.data?.next} />}</Loads>
      {devices.data && <FailedItems folder={folderID} all={devices.data} labels={labels} />}
      {devices.data && <Conflicts folder={folderID} all={devices.data} labels={labels} />}
      {devices.data && devices.data.length > 0 && <Sharing folder={folderID} />}
      {devices.data && devices.data.length > 1 && <CopiesOf folder={folderID} />}
      <Figures folder={folderID} />
      <Kept about={{ folder: folderID, limit: 20 }} />
    </Page>
  );
}

/** InFleet is how the folder is on all devices together, and what a person can do. */
function InFleet({
  folder,
  standings,
  labels,
}: {
  folder: Schemas["FleetFolder"];
  standings: FolderStanding[];
  labels: ReadonlyMap<string, string>;
}) {
  const { state, reason, next, since, devices, needBytes, globalBytes } = folder;
  const { tone } = badgeOf(folderStates, state);
  const concerned = tone === "bad" || tone === "wait" ? standings.filter((one) => one.state === state) : [];
  return (
    <Panel tone={tone}>
      <Row spread>
        <Stack tight>
          <Strong>
            <Prose>{brief(sentence(reason || folderStates[state]?.meaning || state), 500)}</Prose>
          </Strong>
          {next && (
            <Muted>
              <Prose>{brief(sentence(next), 500)}</Prose>
            </Muted>
          )}
          {concerned.length > 0 && (
            <Named devices={concerned.map(({ deviceID }) => ({ deviceID, label: labels.get(deviceID) ?? "" }))} />
          )}
          <span>{`${plural(devices.all ?? 0, "device")}: ${tally(devices)}`}</span>
          <Faint>
            {[size(globalBytes), needBytes > 0 && `${lackOfAll(folder)} missing on all devices together`, unknownOn(folder)]
              .filter(Boolean)
              .join(", ")}
          </Faint>
        </Stack>
        {since && (
          <Muted>
            Since <Ago at={since} />
          </Muted>
        )}
      </Row>
    </Panel>
  );
}

function Devices({ folder, all, told }: { folder: string; all: FolderStanding[]; told: string | undefined }) {
  const [search, setSearch] = useState("");
  const fleet = useQuery(inventory());
  const byID = new Map((fleet.data?.devices ?? []).map((row) => [row.deviceID, row]));
  const nameOf = ({ deviceID }: FolderStanding) => byID.get(deviceID)?.label.slice(0, 200) || shortID(deviceID);
  const found = worstFirst(all).filter((one) =>
    matches(search, [nameOf(one), one.deviceID, badgeOf(folderStates, one.state).word]),
  );
  return (
    <>
      <SearchField label="Search devices and states" value={search} onChange={setSearch} />
      <Panel flush title="Devices, those with the worst state first">
        <List
          rows={found.slice(0, most)}
          id={(one) => one.deviceID}
          columns={[
            {
              title: "Device",
              cell: (one) => <Device standing={one} name={nameOf(one)} row={byID.get(one.deviceID)} />,
              by: nameOf,
            },
            { title: "State", cell: (one) => <FolderWhy standing={one} told={told} />, by: ({ state }) => placeOf(state) },
            {
              title: "How far",
              cell: (one) => <FolderFigures standing={one} name={`${folder} on ${nameOf(one)}`} />,
              by: ({ needBytes }) => needBytes,
            },
            {
              title: "Connected",
              right: true,
              cell: (one) => <Connected standing={one} />,
              by: ({ peers }) => peers.connected,
            },
            {
              title: "Of",
              right: true,
              cell: (one) => <Whole standing={one} />,
              by: ({ globalBytes }) => globalBytes,
            },
          ]}
        />
        {found.length > most && <Faint>{`Search to see the other ${count(found.length - most)}.`}</Faint>}
        {found.length === 0 && <Nothing title="No device matches">Search for another label, ID or state.</Nothing>}
      </Panel>
    </>
  );
}

function Device({ standing, name, row }: { standing: FolderStanding; name: string; row: InventoryDevice | undefined }) {
  return (
    <Stacked>
      <To href={`/devices/${standing.deviceID}`}>{name}</To>
      {row && row.connection !== "online" && <State badges={connections} state={row.connection} />}
      <Faint>{folderTypes[standing.type] ?? standing.type}</Faint>
    </Stacked>
  );
}
