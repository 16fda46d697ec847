import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, ask, titled, type Schemas } from "../../api/client";
import { warn } from "../../ui/act";
import { Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Text } from "../../ui/text";
import { Effect } from "../whatif/Effect";
import { afterUndo, answeredByUndo, consentOfUndo, shownOnce } from "./undo";

/**
 * UndoEffect lists everything that the undo of a rollout would change and remove, and on which devices. shows is called
 * with the plan that is on the screen, and with undefined when it leaves the screen.
 */
export function UndoEffect({ id, shows }: { id: number; shows: (plan: Schemas["WhatIfPlan"] | undefined) => void }) {
  const plan = useQuery({
    queryKey: ["undo", id],
    queryFn: () => ask(api.GET("/api/v1/rollouts/{rolloutID}/undo", { params: { path: { rolloutID: id } } })),
    ...shownOnce,
  });
  const { data } = plan;
  useEffect(() => {
    shows(data);
    return () => shows(undefined);
  }, [data, shows]);
  return (
    <Loads query={plan}>
      {(listed) => (
        <Stack>
          {answeredByUndo(listed).length > 0 && <Text>{consentOfUndo(listed)}</Text>}
          <Effect plan={listed} whole idle="The undo leaves every daemon as it is." />
        </Stack>
      )}
    </Loads>
  );
}

/**
 * undo takes a rollout back as it was shown, and consents to the held changes that were listed. When the fleet's
 * templates changed since, the server refuses it. undo warns of what failed besides, and returns what else to tell the person.
 */
export async function undo(id: number, shown: Schemas["WhatIfPlan"] | undefined, title: string): Promise<string> {
  if (!shown) throw new Error("what the undo changes is not loaded yet");
  const undone = await ask(
    titled(title).POST("/api/v1/rollouts/{rolloutID}/undo", {
      params: { path: { rolloutID: id }, query: { generation: shown.generation } },
      body: { shown: answeredByUndo(shown) },
    }),
  );
  for (const problem of undone.problems) warn(`Rollout ${id} is undone, but ${problem}`);
  return afterUndo(undone);
}
