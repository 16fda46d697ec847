import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import { useLabelsOf } from "../../api/labels";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { brief, plural, shortID } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads, More, Nothing } from "../../ui/page";
import { Text, To } from "../../ui/text";
import { filePage } from "./folders";

const everyFailed = (folderID: string) =>
  everyPage((after) =>
    api.GET("/api/v1/folders/{folderID}/failed", {
      params: { path: { folderID }, query: { limit: mostAtOnce, ...(after ? { after } : {}) } },
    }),
  );

/** FailedItems are the files that daemons could not sync, with their words. Nothing shows where all could be. */
export function FailedItems({ folder, failed }: { folder: string; failed: number }) {
  const items = useInfiniteQuery({ ...queries.failedItems(folder), enabled: failed > 0 });
  const labels = useLabelsOf(items.data?.map(({ deviceID }) => deviceID) ?? []);
  const nameOf = (id: string) => labels.get(id) || shortID(id);
  if (failed === 0) return null;
  return (
    <Panel title={`${plural(failed, "item")} could not be synced`} flush actions={<Export name={`failed-items-of-${folder}`} rows={() => everyFailed(folder)} />}>
      <Loads query={items}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing title="Not read yet">The daemons are asked for the names while somebody looks.</Nothing>
          ) : (
            <>
              <List
                kept="failed-sort"
                rows={rows}
                id={({ deviceID, path }) => `${deviceID} ${path}`}
                columns={[
                  {
                    title: "Item",
                    cell: ({ path }) => <To href={filePage(folder, path)}>{brief(path, 300)}</To>,
                    by: ({ path }) => path,
                  },
                  {
                    title: "Device",
                    cell: ({ deviceID }) => <To href={`/devices/${deviceID}`}>{nameOf(deviceID)}</To>,
                    by: ({ deviceID }) => nameOf(deviceID),
                  },
                  {
                    title: "Why, in the words of its daemon",
                    cell: ({ text }) => <Text>{brief(text, 500)}</Text>,
                    by: ({ text }) => text,
                  },
                ]}
              />
              <More query={items}>Show more items</More>
            </>
          )
        }
      </Loads>
    </Panel>
  );
}
