import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useMay } from "../../session/me";
import { done } from "../../ui/act";
import { Confirm } from "../../ui/confirm";
import { Stack } from "../../ui/layout";
import { Text, To } from "../../ui/text";
import { UndoEffect, undo } from "./UndoEffect";
import { askUndo, useAskedUndo } from "./undoing";

/** UndoDialog asks whether a rollout is undone, wherever somebody wants that: from a message, or from the search. */
export function UndoDialog() {
  const id = useAskedUndo();
  return id === undefined ? null : <Asked key={id} id={id} />;
}

function Asked({ id }: { id: number }) {
  const client = useQueryClient();
  const [shown, setShown] = useState<Schemas["WhatIfPlan"]>();
  const close = () => askUndo(undefined);
  return (
    <Confirm
      onClose={close}
      run={async (title) => {
        done(await undo(id, shown, title));
        void client.invalidateQueries();
      }}
      question={{
        title: `Undo rollout ${id}?`,
        verb: "Undo",
        loads: shown === undefined,
        body: (
          <Stack>
            <Text>
              The templates and tags become what they were before. Devices that got the change go back at once, without waves.{" "}
              <To href={`/rollouts/${id}`}>Rollout {id}</To>
            </Text>
            <UndoEffect id={id} shows={setShown} />
          </Stack>
        ),
      }}
    />
  );
}

/** UndoRollout is the button of a message about a change, for those who may undo it. */
export function UndoRollout({ id }: { id: number }) {
  const may = useMay("author");
  if (!may) return null;
  return (
    <button type="button" className="u-link" onClick={() => askUndo(id)}>
      Undo…
    </button>
  );
}
