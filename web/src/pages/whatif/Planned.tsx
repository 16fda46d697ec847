import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { useMay } from "../../session/me";
import type { Role } from "../../session/roles";
import { Act, warn } from "../../ui/act";
import { Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Muted } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { doneIn } from "../rollouts/doneIn";
import { AllowFailing } from "./AllowFailing";
import { Effect } from "./Effect";
import { inverseOf } from "./inverse";
import { usePlan, whyRefused } from "./planning";
import { saveFor } from "./savefor";

/** Planned shows what a change would do, and stores it while that is so. */
export function Planned({
  body,
  needs = "operator",
  onDone,
  onDiscard,
}: {
  body: Schemas["WhatIf"];
  needs?: Role;
  onDone: (newTemplates: number[]) => void;
  onDiscard: () => void;
}) {
  const may = useMay(needs);
  const planning = usePlan(body, may);
  const { plan, isRefused, allowed: allowFailing } = planning;
  const [title, setTitle] = useState("");
  return (
    <Stack>
      {!may && <Muted>A plan needs the role {needs}.</Muted>}
      {may && !isRefused && <Loads query={plan}>{(data) => <Effect plan={data} />}</Loads>}
      <AllowFailing planning={planning} />
      {may && <TitleField value={title} onChange={setTitle} />}
      <Row>
        <Act
          needs={needs}
          variant="filled"
          disabled={!plan.data || plan.isFetching || plan.data.broken.length > 0}
          why={whyNot(plan.data, isRefused)}
          run={async () => {
            const applied = await ask(
              titled(title).POST("/api/v1/changes", {
                body: { ...body, allowFailing, ...(plan.data ? { generation: plan.data.generation } : {}) },
              }),
            );
            for (const warning of applied.warnings) warn(warning);
            void doneIn("Saved", applied.generation, inverseOf(body, applied.newTemplates));
            onDone(applied.newTemplates);
          }}
        >
          {saveFor(plan.data?.touched.devices)}
        </Act>
        <Act needs="viewer" run={() => Promise.resolve(onDiscard())}>
          Discard
        </Act>
      </Row>
    </Stack>
  );
}

function whyNot(plan: Schemas["WhatIfPlan"] | undefined, isRefused: boolean): string {
  if (isRefused) return whyRefused;
  return plan && plan.broken.length > 0 ? "It would break what is asserted." : "The plan is being made.";
}
