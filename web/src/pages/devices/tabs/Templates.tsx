import { IconTemplate } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../../api/queries";
import { Export } from "../../../ui/export";
import { shortID } from "../../../ui/format";
import { List, Panel, Row, Stack } from "../../../ui/layout";
import { Loads, Nothing } from "../../../ui/page";
import { TagChips } from "../../../ui/tags";
import { Ago, Mono, Muted, To } from "../../../ui/text";
import { Why } from "./Why";

/** Templates are those that apply to the device, in the order in which they do, and what they make of a key. */
export default function Templates({ id }: { id: string }) {
  return (
    <Stack>
      <Why id={id} />
      <Applied id={id} />
    </Stack>
  );
}

function Applied({ id }: { id: string }) {
  const templates = useQuery(queries.deviceTemplates(id));
  return (
    <Panel
      flush
      title="In the order in which they apply; the last one has the last word"
      actions={<Export name={`templates-of-${shortID(id)}`} rows={() => templates.data ?? []} says="All templates of the device" />}
    >
      <Loads query={templates}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing icon={IconTemplate} title="No template applies">
              A template applies to a device when they share a tag.
            </Nothing>
          ) : (
            <List
              rows={rows}
              id={({ template }) => template}
              columns={[
                {
                  title: "Template",
                  cell: ({ template, label }) => (
                    <To href={`/templates/${template}`}>{label.slice(0, 200) || `Template ${template}`}</To>
                  ),
                },
                { title: "Priority", right: true, cell: ({ priority }) => priority },
                { title: "Op", cell: ({ op }) => <Muted>{op}</Muted> },
                { title: "Key", cell: ({ at }) => <Mono>{at || "(everything)"}</Mono> },
                {
                  title: "By the tags",
                  cell: ({ tags }) => (
                    <Row>
                      <TagChips tags={tags} />
                    </Row>
                  ),
                },
                {
                  title: "Text",
                  cell: ({ savedBy, savedAt }) => (
                    <Muted>
                      {savedBy} <Ago at={savedAt} />
                    </Muted>
                  ),
                },
              ]}
            />
          )
        }
      </Loads>
    </Panel>
  );
}
