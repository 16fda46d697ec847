import { IconTag } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { inventory, type InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { useInAddress } from "../../ui/address";
import { Export } from "../../ui/export";
import { Filters } from "../../ui/filters";
import { plural } from "../../ui/format";
import { List, Panel, Row } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { matches } from "../../ui/search";
import { SearchField } from "../../ui/field";
import { Chip, Faint, Muted, To } from "../../ui/text";
import { Deletion } from "../whatif/Deletion";

const most = 300; // tags that are shown at once

/** Tags tie devices and templates together. */
export default function Tags() {
  const [search, setSearch] = useInAddress("q");
  const tags = useQuery(queries.tagOverviews());
  const templates = useQuery(queries.templates());
  const fleet = useQuery(inventory());
  const found = (tags.data ?? []).filter(({ tag }) => matches(search, [tag]));
  const labels = new Map((templates.data ?? []).map((one) => [one.id, one.label]));
  const carriers = useMemo(() => carriersOf(fleet.data?.devices ?? []), [fleet.data]);
  const rows = found.slice(0, most);
  return (
    <Page
      title="Tags"
      updatedAt={tags.dataUpdatedAt}
      sub={tags.data && <span>{plural(tags.data.length, "tag")}</span>}
      actions={<Export name="tags" rows={() => found} />}
    >
      <SearchField label="Search tags" value={search} onChange={setSearch}>
        <Filters page="tags" />
      </SearchField>
      <Loads query={tags}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Nothing icon={IconTag} title="No tag yet">
                A tag on a device and on a template makes the template apply to the device. Put one on a device, on its
                page.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <List
                kept="sort"
                rows={rows}
                id={({ tag }) => tag}
                columns={[
                  {
                    title: "Tag",
                    cell: ({ tag }) => <Chip href={`/devices?tag=${encodeURIComponent(tag)}`}>{tag}</Chip>,
                    by: ({ tag }) => tag,
                  },
                  {
                    title: "Devices",
                    right: true,
                    cell: ({ tag, devices }) =>
                      devices > 0 ? (
                        <To href={`/devices?tag=${encodeURIComponent(tag)}`}>{plural(devices, "device")}</To>
                      ) : (
                        <Muted>none</Muted>
                      ),
                    by: ({ devices }) => devices,
                  },
                  {
                    title: "Templates",
                    cell: (row) => (
                      <Row>
                        {row.templates.length === 0 && <Muted>none</Muted>}
                        {row.templates.map((id) => (
                          <To key={id} href={`/templates/${id}`}>
                            {labels.get(id)?.slice(0, 80) || `Template ${id}`}
                          </To>
                        ))}
                      </Row>
                    ),
                  },
                  {
                    title: "",
                    right: true,
                    cell: (row) => (
                      <Delete tag={row.tag} devices={carriers.get(row.tag) ?? []} templates={row.templates} />
                    ),
                  },
                ]}
              />
              {found.length > most && <Faint>Search to see the other {found.length - most}.</Faint>}
              {found.length === 0 && <Nothing title="No tag matches">Search for a part of its name.</Nothing>}
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}

function carriersOf(devices: InventoryDevice[]): Map<string, string[]> {
  const carriers = new Map<string, string[]>();
  for (const device of devices) {
    for (const tag of device.tags) {
      const list = carriers.get(tag);
      if (list) list.push(device.deviceID);
      else carriers.set(tag, [device.deviceID]);
    }
  }
  return carriers;
}

function Delete({ tag, devices, templates }: { tag: string; devices: string[]; templates: number[] }) {
  const removed = [...devices.map((device) => ({ tag, device })), ...templates.map((template) => ({ tag, template }))];
  return (
    <Deletion
      needs="operator"
      change={{ tags: { removed } }}
      question={`Take the tag ${tag.slice(0, 60)} off everything?`}
      verb="Delete the tag"
      about={`It is on ${plural(devices.length, "device")} and ${plural(templates.length, "template")}. Without it:`}
      says={`The tag ${tag} is gone`}
      usualTitle={`Tag ${tag} deleted`}
      isSmall
    >
      Delete…
    </Deletion>
  );
}
