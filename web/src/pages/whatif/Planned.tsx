import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { whatIf } from "../../api/whatif";
import { useMay } from "../../session/me";
import type { Role } from "../../session/roles";
import { Act, warn } from "../../ui/act";
import { plural } from "../../ui/format";
import { Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Muted } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { doneIn } from "../rollouts/doneIn";
import { AllowFailing } from "./AllowFailing";
import { useAllowed } from "./allowed";
import { Effect } from "./Effect";
import { inverseOf } from "./inverse";

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
  const plan = useQuery({ ...whatIf(body), enabled: may });
  const [allowFailing, setAllowFailing] = useAllowed(plan.data);
  const [title, setTitle] = useState("");
  return (
    <Stack>
      {may ? <Loads query={plan}>{(data) => <Effect plan={data} />}</Loads> : <Muted>A plan needs the role {needs}.</Muted>}
      <AllowFailing plan={plan.data} allowed={allowFailing} allow={setAllowFailing} />
      {may && <TitleField value={title} onChange={setTitle} />}
      <Row>
        <Act
          needs={needs}
          variant="filled"
          disabled={!plan.data || plan.isFetching || plan.data.broken.length > 0}
          why={plan.data && plan.data.broken.length > 0 ? "It would break what is asserted." : "The plan is being made."}
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
          {`Save for ${plural(plan.data?.touched.devices ?? 0, "device")}`}
        </Act>
        <Act needs="viewer" run={() => Promise.resolve(onDiscard())}>
          Discard
        </Act>
      </Row>
    </Stack>
  );
}
