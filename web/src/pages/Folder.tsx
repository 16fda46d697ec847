import { useQuery } from "@tanstack/react-query";
import { inventory } from "../api/inventory";
import { queries } from "../api/queries";
import { decoded, plural, shortID, size } from "../ui/format";
import { List, Panel } from "../ui/layout";
import { Loads, Nothing, Page } from "../ui/page";
import { connections, State } from "../ui/state";
import { Ago, Bar, Chip, Muted, Stacked, To } from "../ui/text";
import { Sharing } from "./Sharing";
import { completion } from "./device/folders";

/** Folder is one folder on all devices that share it: who is complete, and who is behind. */
export default function Folder({ id }: { id: string }) {
  const folderID = decoded(id);
  const summaries = useQuery(queries.folder(folderID));
  const folders = useQuery(queries.folders());
  const fleet = useQuery(inventory());
  const label = folders.data?.find((one) => one.folder === folderID)?.label;
  const byID = new Map((fleet.data?.devices ?? []).map((row) => [row.deviceID, row]));
  const rows = [...(summaries.data ?? [])].sort((a, b) => completion(a) - completion(b) || b.needBytes - a.needBytes);
  const complete = rows.filter((one) => completion(one) === 100);
  const copies = complete.filter((one) => byID.get(one.device)?.connection === "online").length;
  return (
    <Page
      title={label || folderID}
      crumb={{ href: "/folders", text: "Folders" }}
      updatedAt={summaries.dataUpdatedAt}
      sub={
        summaries.data && (
          <>
            <Chip>{folderID}</Chip>
            <span>{`${complete.length} of ${plural(rows.length, "device")} complete`}</span>
            <span>{`${plural(copies, "complete copy", "complete copies")} online`}</span>
          </>
        )
      }
    >
      <Loads query={summaries}>
        {() =>
          rows.length === 0 ? (
            <Panel>
              <Nothing title="No managed device has this folder">It may have been removed a moment ago.</Nothing>
            </Panel>
          ) : (
            <Panel flush title="Devices, those that are furthest behind first">
              <List
                rows={rows}
                id={(one) => one.device}
                columns={[
                  {
                    title: "Device",
                    cell: (one) => (
                      <To href={`/devices/${one.device}`}>
                        {byID.get(one.device)?.label.slice(0, 200) || shortID(one.device)}
                      </To>
                    ),
                  },
                  {
                    title: "Connection",
                    cell: (one) => <State badges={connections} state={byID.get(one.device)?.connection ?? "neverSeen"} />,
                  },
                  {
                    title: "Complete",
                    cell: (one) => (
                      <Stacked>
                        <span>{completion(one)} %</span>
                        <Bar value={completion(one)} label={`Completion on ${byID.get(one.device)?.label ?? one.device}`} />
                      </Stacked>
                    ),
                  },
                  {
                    title: "To go",
                    right: true,
                    cell: (one) =>
                      one.needBytes > 0 || one.needFiles > 0 ? (
                        `${size(one.needBytes)}, ${plural(one.needFiles, "file")}`
                      ) : (
                        <Muted>0</Muted>
                      ),
                  },
                  { title: "Has", right: true, cell: (one) => size(one.localBytes) },
                  { title: "Of", right: true, cell: (one) => size(one.globalBytes) },
                  { title: "Told", cell: (one) => <Ago at={one.updatedAt} /> },
                ]}
              />
            </Panel>
          )
        }
      </Loads>
      {rows.length > 0 && <Sharing folder={folderID} />}
    </Page>
  );
}
