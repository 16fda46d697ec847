import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, ask } from "../../api/client";
import { Loads } from "../../ui/page";
import { Effect } from "../whatif/Effect";

/**
 * UndoEffect lists everything that the undo of a rollout would change and remove, and on which devices. shows is called
 * with the generation that the list was compared with.
 */
export function UndoEffect({ id, shows }: { id: number; shows: (generation: number) => void }) {
  const plan = useQuery({
    queryKey: ["undo", id],
    queryFn: () => ask(api.GET("/api/v1/rollouts/{rolloutID}/undo", { params: { path: { rolloutID: id } } })),
    gcTime: 0,
  });
  const generation = plan.data?.generation;
  useEffect(() => {
    if (generation !== undefined) shows(generation);
  }, [generation, shows]);
  return (
    <Loads query={plan}>
      {(data) => <Effect plan={data} whole idle="The undo leaves every daemon as it is." />}
    </Loads>
  );
}

/** undo takes a rollout back as it was shown: when the fleet's templates changed since, the server refuses it. */
export async function undo(id: number, shown: number | undefined) {
  if (shown === undefined) throw new Error("what the undo changes is not loaded yet");
  await ask(
    api.POST("/api/v1/rollouts/{rolloutID}/undo", {
      params: { path: { rolloutID: id }, query: { generation: shown } },
    }),
  );
}
