import type { Schemas } from "../../api/client";
import type { FolderStanding } from "../../api/folderstanding";
import { ending, isCurrent, missing } from "../../ui/folderfigures";
import { FolderState } from "../../ui/folderstate";
import { placeOf } from "../../ui/folderwords";
import { brief, count, shortID } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { useNow } from "../../ui/now";
import { Ago, Faint, Muted, Stacked, To } from "../../ui/text";
import { Holders } from "./Holders";

type OneBehind = Schemas["FolderBehind"];

/** Behind are the devices that lack something of a folder: how much, since when, until when, and who has it. */
export function Behind({ folder, standings }: { folder: Schemas["FleetFolder"]; standings: FolderStanding[] }) {
  const byID = new Map(standings.map((one) => [one.deviceID, one]));
  if (folder.behindCount === 0) return null;
  const more = folder.behindCount - folder.behind.length;
  return (
    <Panel title="Who is behind, and who has what they lack" flush>
      <List
        rows={folder.behind}
        id={({ deviceID }) => deviceID}
        columns={[
          {
            title: "Device",
            cell: ({ deviceID, label }) => (
              <To href={`/devices/${deviceID}`}>{brief(label, 200) || shortID(deviceID)}</To>
            ),
            by: ({ label }) => label,
          },
          { title: "State", cell: ({ state }) => <FolderState state={state} />, by: ({ state }) => placeOf(state) },
          {
            title: "Lacks",
            cell: (one) => <Lacks behind={one} standing={byID.get(one.deviceID)} />,
            by: ({ needBytes }) => needBytes,
          },
          { title: "Since", cell: ({ since }) => <Ago at={since} />, by: ({ since }) => since ?? "" },
          {
            title: "Comes from",
            cell: ({ heldBy }) => <Holders ids={heldBy} none="no connected device that is known to have it" />,
          },
        ]}
      />
      {more > 0 && (
        <div className="u-panel-body">
          <Faint>{`and ${count(more)} more, which lack less`}</Faint>
        </div>
      )}
    </Panel>
  );
}

function Lacks({ behind, standing }: { behind: OneBehind; standing: FolderStanding | undefined }) {
  const now = useNow();
  const lacking = missing(behind);
  if (!standing || !isCurrent(standing)) {
    return (
      <Stacked>
        <Muted>Lacked {lacking}</Muted>
        {standing && (
          <Faint>
            <Ago at={standing.asOf} before="Read " />
          </Faint>
        )}
      </Stacked>
    );
  }
  return (
    <Stacked>
      <span>{lacking}</span>
      <Faint>{ending({ ...standing, doneBetween: behind.doneBetween }, now) || "until when is not known"}</Faint>
    </Stacked>
  );
}
