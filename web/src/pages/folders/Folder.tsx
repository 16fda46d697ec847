import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { lackOfAll, unknownOn } from "../../ui/folderfigures";
import { FolderState } from "../../ui/folderstate";
import { folderStates, tally } from "../../ui/folderwords";
import { brief, count, decoded, plural, sentence, shortID, size } from "../../ui/format";
import { Panel, Row, StandingSince } from "../../ui/layout";
import { Loads, Page } from "../../ui/page";
import { badgeOf } from "../../ui/state";
import { Ago, Chip, Faint, Muted, Prose, Strong, To } from "../../ui/text";
import { Kept } from "../events/Kept";
import { Behind } from "./Behind";
import { Conflicts } from "./Conflicts";
import { CopiesOf } from "./Copies";
import { Figures } from "./Figures";
import { FailedItems } from "./FailedItems";
import { FileSearch } from "./FileSearch";
import { FolderDevices } from "./FolderDevices";
import { Sharing } from "./Sharing";

const mostConcerned = 8; // devices that are named where the state of the folder is theirs

/**
 * Folder is one folder on all devices that share it: how it is in the fleet, on which device it is not, and why. Of the
 * devices it reads the page that shows.
 */
export default function Folder({ id }: { id: string }) {
  const folderID = decoded(id);
  const fleet = useQuery(queries.folderState(folderID));
  const all = fleet.data?.devices.all ?? 0;
  return (
    <Page
      title={fleet.data?.label || folderID}
      crumb={{ href: "/folders", text: "Folders" }}
      updatedAt={fleet.dataUpdatedAt}
      sub={
        <>
          {fleet.data && <FolderState state={fleet.data.state} filled />}
          <Chip>{folderID}</Chip>
        </>
      }
    >
      <Loads query={fleet} rows={2}>
        {(data) => <InFleet folder={data} />}
      </Loads>
      <FileSearch folder={folderID} />
      {fleet.data && <Behind folder={fleet.data} />}
      <FolderDevices key={folderID} folder={folderID} all={fleet.data?.devices.all} told={fleet.data?.next} />
      {fleet.data && <FailedItems folder={folderID} failed={fleet.data.failed} />}
      {fleet.data && <Conflicts folder={folderID} fleet={fleet.data} />}
      {all > 0 && <Sharing folder={folderID} all={all} />}
      {all > 1 && <CopiesOf folder={folderID} />}
      <Figures folder={folderID} />
      <Kept about={{ folder: folderID, limit: 20 }} />
    </Page>
  );
}

/** InFleet is how the folder is on all devices together, and what a person can do. */
function InFleet({ folder }: { folder: Schemas["FleetFolder"] }) {
  const { state, reason, next, since, devices, needBytes, globalBytes } = folder;
  const { tone } = badgeOf(folderStates, state);
  const concerned = devices[state] ?? 0;
  return (
    <Panel tone={tone}>
      <StandingSince
        since={
          since && (
            <>
              Since <Ago at={since} />
            </>
          )
        }
      >
        <Strong>
          <Prose>{brief(sentence(reason || folderStates[state]?.meaning || state), 500)}</Prose>
        </Strong>
        {next && (
          <Muted>
            <Prose>{brief(sentence(next), 500)}</Prose>
          </Muted>
        )}
        {(tone === "bad" || tone === "wait") && concerned > 0 && (
          <Concerned folder={folder.folder} state={state} all={concerned} />
        )}
        <Row>
          <span>{`${plural(devices.all ?? 0, "device")}: ${tally(devices)}`}</span>
          <Faint>
            {[size(globalBytes), needBytes > 0 && `${lackOfAll(folder)} missing on all devices together`, unknownOn(folder)]
              .filter(Boolean)
              .join(", ")}
          </Faint>
        </Row>
      </StandingSince>
    </Panel>
  );
}

/** Concerned names the first devices on which the folder is in a state, and leads to all of them. */
function Concerned({ folder, state, all }: { folder: string; state: Schemas["FolderStanding"]["state"]; all: number }) {
  const first = useQuery(queries.folderDevices(folder, { state: [state], limit: mostConcerned }));
  const shown = first.data?.data ?? [];
  const more = all - shown.length;
  return (
    <Row>
      <Faint>{plural(all, "device")}</Faint>
      {shown.map(({ deviceID, label }) => (
        <Chip key={deviceID} href={`/devices/${deviceID}`}>
          {brief(label, 60) || shortID(deviceID)}
        </Chip>
      ))}
      {shown.length > 0 && more > 0 && (
        <To href={`/folders/${encodeURIComponent(folder)}?state=${state}`}>{`and ${count(more)} more`}</To>
      )}
    </Row>
  );
}
