import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { whatIf } from "../../api/whatif";
import type { Role } from "../../session/roles";
import { Act } from "../../ui/act";
import { Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Text } from "../../ui/text";
import { doneIn } from "../rollouts/doneIn";
import { Effect } from "./Effect";
import { inverseOf } from "./inverse";

type Change = Schemas["WhatIf"];
type Plan = Schemas["WhatIfPlan"];

/** Deletion is a button that deletes templates or tags as its dialog shows, and refuses once something else was changed. */
export function Deletion({
  needs,
  change,
  question,
  verb,
  about,
  says,
  usualTitle = "",
  isSmall,
  onDone,
  children,
}: {
  needs: Role;
  change: Change;
  question: string;
  verb: string;
  about: string;
  says: string; // once it is deleted
  usualTitle?: string; // of the change, where the person writes none; blank: as the server words it
  isSmall?: boolean;
  onDone?: () => void;
  children: string;
}) {
  const client = useQueryClient();
  const [shown, setShown] = useState<Plan>();
  return (
    <Act
      needs={needs}
      color="red"
      {...(isSmall ? { size: "compact-xs" } : {})}
      run={async (title) => {
        if (!shown) throw new Error("what the deletion changes is not loaded yet");
        const applied = await ask(
          titled(title || usualTitle).POST("/api/v1/changes", {
            body: { ...change, allowFailing: true, generation: shown.generation },
          }),
        );
        onDone?.();
        void client.invalidateQueries();
        void doneIn(says, applied.generation, inverseOf(change, []));
      }}
      confirm={{
        title: question,
        verb,
        loads: shown === undefined,
        body: <What change={change} about={about} shows={setShown} />,
      }}
    >
      {children}
    </Act>
  );
}

/** What shows what a deletion does. shows is called with the plan on the screen, and with undefined when it leaves. */
function What({ change, about, shows }: { change: Change; about: string; shows: (plan: Plan | undefined) => void }) {
  const plan = useQuery(whatIf(change));
  const { data } = plan;
  useEffect(() => {
    shows(data);
    return () => shows(undefined);
  }, [data, shows]);
  return (
    <Stack>
      <Text>{about}</Text>
      <Loads query={plan}>{(listed) => <Effect plan={listed} />}</Loads>
    </Stack>
  );
}
