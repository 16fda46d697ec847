import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { ask, titled } from "../../api/client";
import { whatIf } from "../../api/whatif";
import { Act } from "../../ui/act";
import { Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Text } from "../../ui/text";
import { Effect } from "../whatif/Effect";

/** Delete deletes a template, after the plan of that was shown. */
export function Delete({ id, label }: { id: number; label: string }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <Act
      needs="author"
      color="red"
      says="The template is deleted"
      run={async (title) => {
        await ask(titled(title).DELETE("/api/v1/templates/{templateID}", { params: { path: { templateID: id } } }));
        navigate("/templates");
        void client.invalidateQueries();
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
