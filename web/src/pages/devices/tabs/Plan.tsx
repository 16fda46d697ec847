import { Checkbox } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../../../api/client";
import { useLabels } from "../../../api/labels";
import { queries, type PlannedChange } from "../../../api/queries";
import { useMe } from "../../../session/me";
import { Act, done, warn } from "../../../ui/act";
import { Change } from "../../../ui/change";
import { plural, sentence } from "../../../ui/format";
import { Panel, Row, Rows, Stack } from "../../../ui/layout";
import { Loads, Nothing } from "../../../ui/page";
import { Chip, Faint, To } from "../../../ui/text";

type Answer = "consent" | "keep";

/** Plan is what would be changed on the device now, and the answers to what is held. */
export default function Plan({ id }: { id: string }) {
  const plan = useQuery(queries.plan(id));
  const labels = useLabels();
  return (
    <Loads query={plan}>
      {({ changes, digest }) =>
        changes.length === 0 ? (
          <Panel>
            <Nothing icon={IconCircleCheck} title="Nothing to change">
              The device is as its templates say.
            </Nothing>
          </Panel>
        ) : (
          <Changes key={digest} id={id} digest={digest} changes={changes} labels={labels} />
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
  const me = useMe();
  const templates = useQuery(queries.templates());
  const names = new Map((templates.data ?? []).map((one) => [one.id, one.label]));
  const [answers, setAnswers] = useState<ReadonlyMap<string, Answer>>(new Map());
  const answer = (key: string, is: Answer) => {
    const next = new Map(answers);
    if (next.get(key) === is) next.delete(key);
    else next.set(key, is);
    setAnswers(next);
  };
  const keysOf = (is: Answer) => [...answers].filter(([, one]) => one === is).map(([key]) => key);
  const held = changes.filter((change) => change.class === "held").length;
  const apply = async () => {
    const applied = await ask(
      api.POST("/api/v1/devices/{deviceID}/apply", {
        params: { path: { deviceID: id } },
        body: { digest, consent: keysOf("consent"), keep: keysOf("keep") },
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
          {held > 0 && <Faint>{plural(held, "change waits", "changes wait")} for consent</Faint>}
          <Act needs="operator" variant="filled" run={apply}>
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
            {(change.class === "held" || change.returns) && (
              <Stack tight>
                {change.class === "held" && (
                  <Checkbox
                    size="xs"
                    label="Consent"
                    disabled={me.role === "viewer"}
                    checked={answers.get(change.key) === "consent"}
                    onChange={() => answer(change.key, "consent")}
                  />
                )}
                {change.returns && (
                  <Checkbox
                    size="xs"
                    label="Keep what is there"
                    disabled={me.role === "viewer"}
                    checked={answers.get(change.key) === "keep"}
                    onChange={() => answer(change.key, "keep")}
                  />
                )}
                {me.role === "viewer" && <Faint>{sentence("Needs the role operator or higher")}</Faint>}
              </Stack>
            )}
          </li>
        ))}
      </Rows>
    </Panel>
  );
}
