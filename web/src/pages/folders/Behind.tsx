import type { Schemas } from "../../api/client";
import { useLabelsOf } from "../../api/labels";
import { Export } from "../../ui/export";
import { ending, isCurrent, missing } from "../../ui/folderfigures";
import { FolderState } from "../../ui/folderstate";
import { placeOf } from "../../ui/folderwords";
import { brief, count, plural, shortID } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { useNow } from "../../ui/now";
import { Ago, Faint, Muted, Stacked, To } from "../../ui/text";
import { Holders } from "./Holders";

type OneBehind = Schemas["FolderBehind"];

/** Behind are the devices that lack something of a folder: how much, since when, until when, and who has it. */
export function Behind({ folder }: { folder: Schemas["FleetFolder"] }) {
  const labels = useLabelsOf(folder.behind.flatMap(({ heldBy }) => heldBy));
  if (folder.behindCount === 0) return null;
  const more = folder.behindCount - folder.behind.length;
  const says = more > 0 ? `The ${plural(folder.behind.length, "device")} that lack most` : "All devices that are behind";
  return (
    <Panel title="Who is behind, and who has what they lack" flush actions={<Export name={`behind-in-${folder.folder}`} rows={() => folder.behind} says={says} />}>
      <List
        kept="behind-sort"
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
            cell: (one) => <Lacks behind={one} />,
            by: ({ needBytes }) => needBytes,
          },
          { title: "Since", cell: ({ since }) => <Ago at={since} />, by: ({ since }) => since ?? "" },
          {
            title: "Comes from",
            cell: ({ heldBy }) => <Holders ids={heldBy} labels={labels} none="no connected device that is known to have it" />,
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

function Lacks({ behind }: { behind: OneBehind }) {
  const now = useNow();
  const lacking = missing(behind);
  if (!isCurrent(behind)) {
    return (
      <Stacked>
        <Muted>Lacked {lacking}</Muted>
        {behind.asOf && (
          <Faint>
            <Ago at={behind.asOf} before="Read " />
          </Faint>
        )}
      </Stacked>
    );
  }
  return (
    <Stacked>
      <span>{lacking}</span>
      <Faint>{ending(behind, now) || "until when is not known"}</Faint>
    </Stacked>
  );
}
