import { IconTemplate } from "@tabler/icons-react";
import { useQueries } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import { List, Panel, Row } from "../../ui/layout";
import { Ghosts, Nothing, Wrong } from "../../ui/page";
import { Chip, Mono, Muted, To } from "../../ui/text";

/** Templates are those that apply to the device, in the order in which they do: the last one has the last word. */
export default function Templates({ tags }: { id: string; tags: string[] }) {
  const byTag = useQueries({ queries: tags.map((tag) => queries.tagTemplates(tag)) });
  const error = byTag.find((one) => one.error)?.error;
  if (error) return <Wrong error={error} />;
  if (byTag.some((one) => one.isPending)) return <Ghosts />;
  const found = new Map(
    byTag.flatMap((one, i) =>
      (one.data ?? []).map((template) => [template.id, { template, tag: tags[i] ?? "" }] as const),
    ),
  );
  const rows = [...found.values()].sort(
    (a, b) => a.template.priority - b.template.priority || a.template.id - b.template.id,
  );
  if (rows.length === 0) {
    return (
      <Panel>
        <Nothing icon={IconTemplate} title="No template applies">
          A template applies to a device when they share a tag.
        </Nothing>
      </Panel>
    );
  }
  return (
    <Panel flush title="In the order in which they apply; the last one has the last word">
      <List
        rows={rows}
        id={({ template }) => template.id}
        columns={[
          { title: "Priority", right: true, cell: ({ template }) => template.priority },
          {
            title: "Template",
            cell: ({ template }) => (
              <To href={`/templates/${template.id}`}>{template.label || `Template ${template.id}`}</To>
            ),
          },
          { title: "Op", cell: ({ template }) => <Muted>{template.op}</Muted> },
          { title: "Key", cell: ({ template }) => <Mono>{template.key || "(everything)"}</Mono> },
          {
            title: "By the tag",
            cell: ({ tag }) => (
              <Row>
                <Chip>{tag}</Chip>
              </Row>
            ),
          },
        ]}
      />
    </Panel>
  );
}
