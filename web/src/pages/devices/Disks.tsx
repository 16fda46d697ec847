import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { percent, shortID, size } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Ago, Bar, Clip, Faint, Muted, Stacked, Strong, To } from "../../ui/text";

type Disk = Schemas["DiskUse"];

const uses: Record<string, string> = { home: "The daemon's own files", folder: "", versions: "Older versions of" };

/** Disks are what the device's agent tells of the disks of the daemon. Without an agent nothing is known, and nothing shows. */
export function Disks({ id }: { id: string }) {
  const disks = useQuery(queries.deviceDisks(id));
  if (disks.data?.length === 0) return null;
  return (
    <Panel title="Disks, as the agent tells" flush actions={<Export name={`disks-of-${shortID(id)}`} rows={() => disks.data ?? []} says="All disks" />}>
      <Loads query={disks} rows={1}>
        {(rows) => (
          <List
            rows={rows}
            id={({ use, folder }) => `${use} ${folder}`}
            columns={[
              { title: "Disk of", cell: (disk) => <Use disk={disk} /> },
              { title: "Free", cell: (disk) => <Free disk={disk} /> },
              { title: "Told", cell: ({ asOf }) => <Ago at={asOf} /> },
            ]}
          />
        )}
      </Loads>
    </Panel>
  );
}

function Use({ disk: { use, folder, path, marker } }: { disk: Disk }) {
  return (
    <Stacked>
      {uses[use] && <span>{uses[use]}</span>}
      {folder && (
        <To href={`/folders/${encodeURIComponent(folder)}`}>
          <Clip>{folder}</Clip>
        </To>
      )}
      {path === "missing" && <Strong>Its path is missing</Strong>}
      {path !== "missing" && marker === "missing" && <Strong>Its marker is missing</Strong>}
    </Stacked>
  );
}

function Free({ disk: { freeBytes, totalBytes, nearlyFull } }: { disk: Disk }) {
  if (totalBytes <= 0) return <Muted>not known</Muted>;
  return (
    <Stacked>
      <span>{`${size(freeBytes)} of ${size(totalBytes)}`}</span>
      <Bar
        value={percent(totalBytes - freeBytes, totalBytes)}
        label="How full the disk is"
        tone={nearlyFull ? "bad" : "plain"}
      />
      {nearlyFull && <Faint>Nearly full</Faint>}
    </Stacked>
  );
}
