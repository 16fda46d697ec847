import { Radio } from "@mantine/core";
import { useMe } from "../../../session/me";
import { includes, refusal, type Role } from "../../../session/roles";
import { Stack } from "../../../ui/layout";
import { answersTo, waitsForPerson, type Answer } from "./answers";
import type { PlannedChange } from "../../../api/queries";

const waits = ""; // no answer yet

/** PlanAnswer is what a person may answer to a change: one of the answers, or none. */
export function PlanAnswer({
  change,
  answer,
  set,
}: {
  change: PlannedChange;
  answer: Answer | undefined;
  set: (answer: Answer | undefined) => void;
}) {
  const me = useMe();
  const offered = answersTo(change);
  return (
    <Radio.Group
      label="Answer"
      value={answer?.id ?? waits}
      onChange={(id) => set(offered.find((one) => one.id === id))}
    >
      <Stack tight>
        <Radio size="xs" value={waits} label={waitsForPerson(change) ? "Let it wait" : "No answer"} />
        {offered.map((one) => (
          <Radio
            key={one.id}
            size="xs"
            value={one.id}
            label={one.label}
            description={why(me.role, one)}
            disabled={!includes(me.role, one.needs)}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}

/** why is why somebody cannot give an answer, or what comes of it. */
function why(role: Role, answer: Answer): string {
  return includes(role, answer.needs) ? answer.does : refusal(role, answer.needs);
}
