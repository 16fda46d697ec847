import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../../api/client";
import { useLabels } from "../../../api/labels";
import { queries, type PlannedChange } from "../../../api/queries";
import { Act, done, warn } from "../../../ui/act";
import { Change } from "../../../ui/change";
import { Export } from "../../../ui/export";
import { plural, shortID } from "../../../ui/format";
import { Panel, Row, Rows, Stack } from "../../../ui/layout";
import { Loads, Nothing } from "../../../ui/page";
import { withLabels } from "../../../ui/difference";
import { Chip, Faint, Text, To } from "../../../ui/text";
import { Sentences } from "../../whatif/Sentences";
import { answersTo, bodyOf, waitsForPerson, type Answer } from "./answers";
import { PlanAnswer } from "./PlanAnswer";

/** Plan is what would be changed on the device now, and the answers to what is held. */
export default function Plan({ id }: { id: string }) {
  const plan = useQuery(queries.plan(id));
  const labels = useLabels();
  return (
    <Loads query={plan}>
      {({ changes, digest, summary }) =>
        changes.length === 0 ? (
          <Panel>
            <Nothing icon={IconCircleCheck} title="Nothing to change">
              The device is as its templates say.
            </Nothing>
          </Panel>
        ) : (
          <Stack>
            <Panel title="What it does">
              <Sentences summary={summary} />
            </Panel>
            <Changes key={digest} id={id} digest={digest} changes={changes} labels={labels} />
          </Stack>
        )
      }
    </Loads>
  );
}

function Changes({
  id,
  digest,
  changes,
  labels,
}: {
  id: string;
  digest: string;
  changes: PlannedChange[];
  labels: ReadonlyMap<string, string>;
}) {
  const client = useQueryClient();
  const templates = useQuery(queries.templates());
  const names = new Map((templates.data ?? []).map((one) => [one.id, one.label]));
  const [answers, setAnswers] = useState<ReadonlyMap<string, Answer>>(new Map());
  const answer = (key: string, is: Answer | undefined) => {
    const next = new Map(answers);
    if (is) next.set(key, is);
    else next.delete(key);
    setAnswers(next);
  };
  const held = changes.filter(waitsForPerson).length;
  const apply = async (title: string) => {
    const applied = await ask(
      titled(title).POST("/api/v1/devices/{deviceID}/apply", {
        params: { path: { deviceID: id } },
        body: bodyOf(digest, answers),
      }),
    );
    void client.invalidateQueries();
    done(`${plural(applied.applied.length, "change")} applied`);
    const reason = applied.waiting[0]?.reason;
    if (applied.waiting.length > 0 && reason) warn(`${plural(applied.waiting.length, "change")} not made: ${reason}`);
  };
  return (
    <Panel
      flush
      title={plural(changes.length, "change")}
      actions={
        <Row>
          <Export name={`plan-of-${shortID(id)}`} rows={() => changes} says="All changes of the plan" />
          {held > 0 && <Faint>{plural(held, "change waits", "changes wait")} for consent</Faint>}
          <Act needs="operator" variant="filled" run={apply} {...(answers.size > 0 ? { confirm: asked(answers, labels) } : {})}>
            {answers.size > 0 ? "Apply with these answers" : "Apply what is free"}
          </Act>
        </Row>
      }
    >
      <Rows>
        {changes.map((change, i) => (
          <li key={`${change.key}-${i}`}>
            <Change change={change} labels={labels}>
              <Row>
                {change.drift && <Chip title="Somebody changed it at the daemon">drift</Chip>}
                {change.returns && <Chip title="No template asks for it any more">returns to what it was</Chip>}
                {change.templates.map((template) => (
                  <To key={template} href={`/templates/${template}`}>
                    {names.get(template) || `Template ${template}`}
                  </To>
                ))}
                {change.key && !change.key.startsWith("ignores.") && (
                  <To href={`/devices/${id}/templates?key=${encodeURIComponent(change.key)}`}>Why</To>
                )}
              </Row>
            </Change>
            {answersTo(change).length > 0 && (
              <PlanAnswer change={change} answer={answers.get(change.key)} set={(is) => answer(change.key, is)} />
            )}
          </li>
        ))}
      </Rows>
    </Panel>
  );
}

/** asked is the dialog before an apply with answers: it names each answer once more, and what comes of it. */
function asked(answers: ReadonlyMap<string, Answer>, labels: ReadonlyMap<string, string>) {
  return {
    title: "Apply with these answers?",
    verb: "Apply",
    body: (
      <Stack tight>
        {[...answers].map(([key, { label, does }]) => (
          <Text key={key}>
            {withLabels(key, labels)}: {label}
            {does && <Faint> {does}</Faint>}
          </Text>
        ))}
      </Stack>
    ),
  };
}
