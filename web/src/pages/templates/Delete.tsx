import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { ask, titled } from "../../api/client";
import { whatIf } from "../../api/whatif";
import { Act } from "../../ui/act";
import { Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Text } from "../../ui/text";
import { doneIn } from "../rollouts/doneIn";
import { Effect } from "../whatif/Effect";

/** Delete deletes a template, after the plan of that was shown. */
export function Delete({ id, label }: { id: number; label: string }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <Act
      needs="author"
      color="red"
      run={async (title) => {
        const applied = await ask(titled(title).POST("/api/v1/changes", { body: { templates: { deleted: [id] } } }));
        navigate("/templates");
        void client.invalidateQueries();
        void doneIn("The template is deleted", applied.generation);
      }}
      confirm={{
        title: `Delete ${label.slice(0, 60) || `template ${id}`}?`,
        verb: "Delete",
        body: <DeletePlan id={id} />,
      }}
    >
      Delete
    </Act>
  );
}

function DeletePlan({ id }: { id: number }) {
  const plan = useQuery(whatIf({ templates: { deleted: [id] } }));
  return (
    <Stack>
      <Row>
        <Text>What only this template says returns to what it was before:</Text>
      </Row>
      <Loads query={plan}>{(data) => <Effect plan={data} />}</Loads>
    </Stack>
  );
}
