import { Button, NumberInput } from "@mantine/core";
import { IconTemplate } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act, warn } from "../../ui/act";
import { Grow, Panel, Row, Split, Stack } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { Sortable } from "../../ui/sortable";
import { Chip, Faint, Muted, To } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { doneIn } from "../rollouts/doneIn";
import { AllowFailing } from "../whatif/AllowFailing";
import { saveFor } from "../whatif/savefor";
import { Effect } from "../whatif/Effect";
import { usePlan, whyRefused } from "../whatif/planning";
import { compare, moved, type Ordered } from "./order";

type Template = Schemas["Template"];

/** TemplateOrder changes the order in which templates apply. What that does to every device shows before it is stored. */
export default function TemplateOrder() {
  const templates = useQuery(queries.templates());
  return (
    <Page
      wide
      title="Order of the templates"
      crumb={{ href: "/templates", text: "Templates" }}
      updatedAt={templates.dataUpdatedAt}
      sub={<span>The larger priority has the last word. Drag a template, or type its priority</span>}
    >
      <Loads query={templates} rows={8}>
        {(all) =>
          all.length === 0 ? (
            <Panel>
              <Nothing icon={IconTemplate} title="No template yet">
                There is no order before there are two templates.
              </Nothing>
            </Panel>
          ) : (
            <Arrange all={all} />
          )
        }
      </Loads>
    </Page>
  );
}

function Arrange({ all }: { all: Template[] }) {
  const client = useQueryClient();
  const isAuthor = useMay("author");
  const [priorities, setPriorities] = useState<ReadonlyMap<number, number>>(new Map());
  const rows = all
    .map((template) => ({ ...template, priority: priorities.get(template.id) ?? template.priority }))
    .sort(compare);
  const set = (changes: Ordered[]) => {
    const next = new Map(priorities);
    for (const { id, priority } of changes) next.set(id, priority);
    for (const { id, priority } of all) if (next.get(id) === priority) next.delete(id);
    setPriorities(next);
  };
  const body: Schemas["WhatIf"] = { templates: { changed: [...priorities].map(([id, priority]) => ({ id, priority })) } };
  const planning = usePlan(body, isAuthor && priorities.size > 0);
  const { plan, isRefused, allowed: allowFailing } = planning;
  const [title, setTitle] = useState("");
  return (
    <Split>
      <Panel flush>
        <Sortable
          label="Templates in the order in which they apply"
          rows={rows}
          id={(one) => one.id}
          name={(one) => one.label.slice(0, 60) || `template ${one.id}`}
          disabled={!isAuthor}
          onMove={(from, to) => set(moved(rows, from, to))}
          cell={(one) => (
            <Grow>
              <Row>
                <NumberInput
                  size="xs"
                  w={90}
                  aria-label={`Priority of ${one.label.slice(0, 60) || `template ${one.id}`}`}
                  allowDecimal={false}
                  readOnly={!isAuthor}
                  value={one.priority}
                  onChange={(value) => set([{ id: one.id, priority: Number(value) || 0 }])}
                />
                <To href={`/templates/${one.id}`}>{one.label.slice(0, 120) || `Template ${one.id}`}</To>
                <Faint>
                  {one.op} at {one.key || "everything"}
                </Faint>
                {priorities.has(one.id) && <Chip>changed</Chip>}
              </Row>
            </Grow>
          )}
        />
      </Panel>
      <Panel
        title="What it changes"
        actions={
          <Row>
            {priorities.size > 0 && (
              <Button variant="default" onClick={() => setPriorities(new Map())}>
                Discard
              </Button>
            )}
            <Act
              needs="author"
              variant="filled"
              disabled={priorities.size === 0 || !plan.data || plan.isFetching}
              why={priorities.size === 0 ? "Nothing was changed." : isRefused ? whyRefused : "The plan is being made."}
              run={async () => {
                const applied = await ask(
                  titled(title).POST("/api/v1/changes", {
                    body: { ...body, allowFailing, ...(plan.data ? { generation: plan.data.generation } : {}) },
                  }),
                );
                await client.invalidateQueries();
                setPriorities(new Map());
                for (const warning of applied.warnings) warn(warning);
                void doneIn("The order is saved", applied.generation);
              }}
            >
              {priorities.size > 0 ? saveFor(plan.data?.touched.devices) : "Save"}
            </Act>
          </Row>
        }
      >
        <Stack>
          {!isAuthor ? (
            <Muted>To change the order needs the role author or higher.</Muted>
          ) : priorities.size === 0 ? (
            <Nothing title="As it is saved">Move a template: what that does to every device shows here, before you save.</Nothing>
          ) : (
            <>
              <TitleField value={title} onChange={setTitle} />
              <AllowFailing planning={planning} />
              {!isRefused && <Loads query={plan}>{(data) => <Effect plan={data} />}</Loads>}
            </>
          )}
        </Stack>
      </Panel>
    </Split>
  );
}
