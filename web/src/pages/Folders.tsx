import { IconFolder } from "@tabler/icons-react";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../api/queries";
import { plural, size } from "../ui/format";
import { List, Panel } from "../ui/layout";
import { Loads, Nothing, Page } from "../ui/page";
import { matches } from "../ui/search";
import { SearchField } from "../ui/field";
import { Bar, Faint, Muted, Stacked, Strong, To } from "../ui/text";
import { completion } from "./device/folders";

const mostSummed = 200; // folders whose devices are read for one page

/** Folders are all folders of the fleet, and how far their devices are. */
export default function Folders() {
  const [search, setSearch] = useState("");
  const folders = useQuery(queries.folders());
  const found = (folders.data ?? []).filter((one) => matches(search, [one.folder, one.label]));
  const shown = found.slice(0, mostSummed);
  const summaries = useQueries({ queries: shown.map((one) => queries.folder(one.folder)) });
  const rows = shown.map((folder, i) => {
    const devices = summaries[i]?.data;
    const complete = (devices ?? []).filter((one) => completion(one) === 100).length;
    return {
      folder,
      devices,
      complete,
      bytes: Math.max(0, ...(devices ?? []).map((one) => one.globalBytes)),
      need: (devices ?? []).reduce((sum, one) => sum + one.needBytes, 0),
    };
  });
  return (
    <Page
      title="Folders"
      updatedAt={folders.dataUpdatedAt}
      actions={<To href="/folder-matrix">By device</To>}
      sub={folders.data && <span>{plural(folders.data.length, "folder")}</span>}
    >
      <SearchField label="Search folders" value={search} onChange={setSearch} />
      <Loads query={folders}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Nothing icon={IconFolder} title="No folder yet">
                Folders show here once a managed daemon has one.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <List
                rows={rows}
                id={({ folder }) => folder.folder}
                columns={[
                  {
                    title: "Folder",
                    cell: ({ folder }) => (
                      <Stacked>
                        <To href={`/folders/${encodeURIComponent(folder.folder)}`}>
                          {folder.label.slice(0, 200) || folder.folder.slice(0, 200)}
                        </To>
                        <Faint>{folder.folder.slice(0, 200)}</Faint>
                      </Stacked>
                    ),
                  },
                  {
                    title: "Complete",
                    cell: ({ folder, devices, complete }) =>
                      devices ? (
                        <Stacked>
                          <span>{`${complete} of ${plural(devices.length, "device")}`}</span>
                          <Bar
                            value={devices.length === 0 ? 0 : Math.floor((complete / devices.length) * 100)}
                            label={`Complete devices of ${folder.label || folder.folder}`}
                          />
                        </Stacked>
                      ) : (
                        <Muted>Reading…</Muted>
                      ),
                  },
                  { title: "Size", right: true, cell: ({ bytes, devices }) => devices && size(bytes) },
                  {
                    title: "To go, in all",
                    right: true,
                    cell: ({ need, devices }) => devices && (need > 0 ? <Strong>{size(need)}</Strong> : <Muted>0</Muted>),
                  },
                ]}
              />
              {found.length > mostSummed && <Faint>Search to see the other {found.length - mostSummed}.</Faint>}
              {found.length === 0 && <Nothing title="No folder matches">Search for a label or an ID.</Nothing>}
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}
