import { useInfiniteQuery } from "@tanstack/react-query";
import { api, type Schemas } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import { useLabelsOf } from "../../api/labels";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { brief, count, shortID } from "../../ui/format";
import { List, Panel, Stack } from "../../ui/layout";
import { Loads, More, Nothing } from "../../ui/page";
import { Ago, Clip, Faint, To } from "../../ui/text";
import { conflictCounts, conflictTitle } from "./conflicts";
import { filePage } from "./folders";

const everyConflict = (folderID: string) =>
  everyPage((after) =>
    api.GET("/api/v1/folders/{folderID}/conflicts", {
      params: { path: { folderID }, query: { limit: mostAtOnce, ...(after ? { after } : {}) } },
    }),
  );

/** Conflicts are the files that two devices changed at once. Nothing shows where no daemon tells of one. */
export function Conflicts({ folder, fleet }: { folder: string; fleet: Schemas["FleetFolder"] }) {
  const told = fleet.conflicting;
  const some = told.some(({ conflicts }) => conflicts.files > 0);
  const files = useInfiniteQuery({ ...queries.conflictFiles(folder), enabled: some });
  const labels = useLabelsOf(files.data?.flatMap(({ devices }) => devices) ?? []);
  const nameOf = (id: string) => labels.get(id) || shortID(id);
  if (told.length === 0) return null;
  return (
    <Panel title={conflictTitle(told.map(({ conflicts }) => conflicts))} flush actions={<Export name={`conflicts-of-${folder}`} rows={() => everyConflict(folder)} />}>
      {some && (
        <Loads query={files}>
          {(rows) =>
            rows.length === 0 ? (
              <Nothing title="They are gone">No daemon tells of a conflict file any more.</Nothing>
            ) : (
              <>
                <List
                  kept="conflicts-sort"
                  rows={rows}
                  id={({ path }) => path}
                  columns={[
                    {
                      title: "File",
                      cell: ({ path }) => <To href={filePage(folder, path)}>{brief(path, 300)}</To>,
                      by: ({ path }) => path,
                    },
                    { title: "Found", cell: ({ at }) => <Ago at={at} />, by: ({ at }) => at },
                    {
                      title: "Devices",
                      cell: ({ devices }) => <Clip>{brief(devices.map(nameOf).join(", "), 200)}</Clip>,
                      by: ({ devices }) => devices.length,
                    },
                  ]}
                />
                <More query={files}>Show more files</More>
              </>
            )
          }
        </Loads>
      )}
      <Stack tight>
        {told.map(({ deviceID, label, conflicts }) => (
          <Faint key={deviceID}>{`${brief(label, 60) || shortID(deviceID)}: ${conflictCounts(conflicts)}`}</Faint>
        ))}
        {fleet.conflictingCount > told.length && <Faint>{`and ${count(fleet.conflictingCount - told.length)} more`}</Faint>}
      </Stack>
    </Panel>
  );
}
