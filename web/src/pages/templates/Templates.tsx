import { Button } from "@mantine/core";
import { IconFolder, IconPlus, IconTemplate } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMe } from "../../session/me";
import { includes } from "../../session/roles";
import { useInAddress } from "../../ui/address";
import { Export } from "../../ui/export";
import { Filters } from "../../ui/filters";
import { plural } from "../../ui/format";
import { List, Panel, Row } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { matches } from "../../ui/search";
import { SearchField } from "../../ui/field";
import { TagChips } from "../../ui/tags";
import { Ago, ButtonTo, Mono, Muted, To } from "../../ui/text";

/** Templates are all templates in the order in which they apply: the last one has the last word. */
export default function Templates() {
  const [, navigate] = useLocation();
  const [search, setSearch] = useInAddress("q");
  const me = useMe();
  const templates = useQuery(queries.templates());
  const all = templates.data ?? [];
  const overviews = useQuery(queries.tagOverviews());
  const tags = tagsByTemplate(overviews.data ?? []);
  const rows = all
    .map((template) => ({ template, tags: overviews.data && (tags.get(template.id) ?? []) }))
    .filter((row) => matches(search, [row.template.label, row.template.key, row.template.template, ...(row.tags ?? [])]));
  const create = includes(me.role, "author") && (
    <>
      <ButtonTo href="/templates/share" icon={IconFolder}>
        Share a folder
      </ButtonTo>
      <Button leftSection={<IconPlus size={14} aria-hidden />} onClick={() => navigate("/templates/forms")}>
        New template
      </Button>
    </>
  );
  return (
    <Page
      title="Templates"
      updatedAt={templates.dataUpdatedAt}
      sub={templates.data && <span>{plural(all.length, "template")}, in the order in which they apply</span>}
      actions={
        <>
          <ButtonTo href="/templates/order">Change the order</ButtonTo>
          <Export name="templates" rows={() => rows.map(({ template, tags: on }) => ({ ...template, tags: on ?? [] }))} />
          {create}
        </>
      }
    >
      <SearchField label="Search templates" value={search} onChange={setSearch}>
        <Filters page="templates" />
      </SearchField>
      <Loads query={templates}>
        {() =>
          all.length === 0 ? (
            <Panel>
              <Nothing icon={IconTemplate} title="No template yet" actions={create}>
                A template is a piece of configuration for every device with which it shares a tag.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <List
                kept="sort"
                rows={rows}
                id={({ template }) => template.id}
                columns={[
                  {
                    title: "Template",
                    cell: ({ template }) => (
                      <To href={`/templates/${template.id}`}>{template.label.slice(0, 200) || `Template ${template.id}`}</To>
                    ),
                    by: ({ template }) => template.label,
                  },
                  {
                    title: "Priority",
                    right: true,
                    cell: ({ template }) => template.priority,
                    by: ({ template }) => template.priority,
                  },
                  { title: "Op", cell: ({ template }) => <Muted>{template.op}</Muted> },
                  { title: "Key", cell: ({ template }) => <Mono>{template.key || "(everything)"}</Mono>, by: ({ template }) => template.key },
                  {
                    title: "Tags",
                    cell: (row) => (
                      <Row>
                        {row.tags?.length === 0 && <Muted>none: applies to no device</Muted>}
                        <TagChips tags={row.tags ?? []} to={(tag) => `/devices?tag=${encodeURIComponent(tag)}`} />
                      </Row>
                    ),
                  },
                  { title: "Changed", cell: ({ template }) => <Ago at={template.updatedAt} />, by: ({ template }) => template.updatedAt },
                ]}
              />
              {rows.length === 0 && <Nothing title="No template matches">Search for a label, a key, a tag or the text.</Nothing>}
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}

function tagsByTemplate(overviews: Schemas["TagOverview"][]): Map<number, string[]> {
  const tags = new Map<number, string[]>();
  for (const { tag, templates } of overviews) {
    for (const id of templates) tags.set(id, [...(tags.get(id) ?? []), tag]);
  }
  return tags;
}
