import { Button, Checkbox, Modal, Radio } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import { queries } from "../../../api/queries";
import { useMe } from "../../../session/me";
import { includes, refusal } from "../../../session/roles";
import { done, warn } from "../../../ui/act";
import { Change } from "../../../ui/change";
import { withLabels } from "../../../ui/difference";
import { plural, sentence } from "../../../ui/format";
import { Row, Rows, Stack } from "../../../ui/layout";
import { Loads, Note, Wrong } from "../../../ui/page";
import { Ago, Faint, Strong, Text } from "../../../ui/text";
import { TitleField } from "../../../ui/title";
import { waitsForPerson } from "./answers";
import { sectionsOf } from "./sections";

type Restored = Schemas["Restored"];
type Revision = Schemas["Revision"];

const everything = "";
const mostLeft = 20; // changes that are left out, shown

/** Restore brings the device, or a section of its configuration, back to a revision. What is held asks for consent. */
export function Restore({
  id,
  revision,
  newest,
  labels,
}: {
  id: string;
  revision: Revision;
  newest: number;
  labels: ReadonlyMap<string, string>;
}) {
  const { number } = revision;
  const me = useMe();
  const may = includes(me.role, "operator");
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        disabled={!may}
        title={may ? undefined : refusal(me.role, "operator")}
        aria-label={`Restore revision ${number}`}
        onClick={() => setOpened(true)}
      >
        Restore…
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title={`Restore revision ${number}?`} size="lg">
        <Ask id={id} revision={revision} newest={newest} labels={labels} onClose={() => setOpened(false)} />
      </Modal>
    </>
  );
}

function Ask({
  id,
  revision: { number, seenAt },
  newest,
  labels,
  onClose,
}: {
  id: string;
  revision: Revision;
  newest: number;
  labels: ReadonlyMap<string, string>;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const differs = useQuery(queries.revisionDiff(id, number, newest));
  const [section, setSection] = useState(everything);
  const preview = useQuery(queries.restorePreview(id, number, section));
  const [held, setHeld] = useState<Restored>(); // nothing was sent, because of it
  const [consent, setConsent] = useState<string[]>([]);
  const [title, setTitle] = useState("");
  const agrees = consent.length > 0; // to what is held
  const digest = (agrees ? held : preview.data)?.plan.digest; // of the plan that shows
  const restore = useMutation({
    mutationFn: () =>
      ask(
        titled(title).POST("/api/v1/devices/{deviceID}/revisions/{number}/restore", {
          params: { path: { deviceID: id, number } },
          body: { section, ...(digest ? { digest } : {}), ...(agrees ? { consent } : {}) },
        }),
      ).catch((error: unknown) => {
        if (asProblem(error).status === 409) void preview.refetch(); // It would change something else by now.
        throw error;
      }),
    onSuccess: (out) => {
      void client.invalidateQueries();
      if (!out.done) {
        setHeld(out);
        setConsent([]);
        return;
      }
      done(section ? `${withLabels(section, labels)} is as in revision ${number}` : `Revision ${number} is restored`);
      if (out.left.length > 0) warn(`${plural(out.left.length, "change")} left out: ${out.left[0]?.reason ?? ""}`);
      onClose();
    },
  });
  const waiting = held?.plan.changes.filter(waitsForPerson) ?? [];
  return (
    <Stack>
      <Loads query={differs} rows={2}>
        {({ changes }) => (
          <Radio.Group
            label="What"
            value={section}
            onChange={(value) => {
              setSection(value);
              setHeld(undefined);
              setConsent([]);
            }}
          >
            <Stack tight>
              <Radio size="xs" value={everything} label="Everything" />
              {sectionsOf(changes.map((change) => change.key)).map((one) => (
                <Radio key={one} size="xs" value={one} label={withLabels(one, labels).slice(0, 120)} />
              ))}
            </Stack>
          </Radio.Group>
        )}
      </Loads>
      <Text>
        The daemon gets {section ? <Strong>{withLabels(section, labels)}</Strong> : "the configuration"} of revision{" "}
        <Strong>{number}</Strong> (<Ago at={seenAt} />), as far as no template says otherwise. What is there now stays in the history, so that
        you can come back. A password is never put back.
      </Text>
      {!held && (
        <Loads query={preview} rows={2}>
          {(seen) => <Preview of={seen} labels={labels} />}
        </Loads>
      )}
      {held && <Note>{[held.reason, held.next].filter(Boolean).map(sentence).join(" ")}</Note>}
      {held && <LeftOut left={held.left} labels={labels} />}
      {waiting.length > 0 && (
        <Rows>
          {waiting.map((change) => (
            <li key={change.key}>
              <Change change={change} labels={labels} />
              <Checkbox
                size="xs"
                label="Consent"
                checked={consent.includes(change.key)}
                onChange={(event) =>
                  setConsent(
                    event.currentTarget.checked
                      ? [...consent, change.key]
                      : consent.filter((one) => one !== change.key),
                  )
                }
              />
            </li>
          ))}
        </Rows>
      )}
      <TitleField value={title} onChange={setTitle} />
      {restore.error && <Wrong error={restore.error} />}
      <Row end>
        {waiting.length > consent.length && <Faint>Nothing is sent before every held change has your consent.</Faint>}
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          loading={restore.isPending}
          disabled={!held && (!preview.data || preview.isFetching)}
          onClick={() => restore.mutate()}
          data-autofocus
        >
          {consent.length > 0 ? "Restore with this consent" : "Restore"}
        </Button>
      </Row>
    </Stack>
  );
}

const mostShown = 50; // changes

/** Preview is what the restore would send to the daemon, and what it leaves as it is. */
function Preview({ of: { plan, left, reason }, labels }: { of: Restored; labels: ReadonlyMap<string, string> }) {
  return (
    <Stack tight>
      <Strong>{plan.changes.length === 0 ? sentence(reason) : `It makes ${plural(plan.changes.length, "change")}:`}</Strong>
      <Rows dense>
        {plan.changes.slice(0, mostShown).map((change) => (
          <li key={change.key}>
            <Change change={change} labels={labels} />
          </li>
        ))}
        {plan.changes.length > mostShown && <li>and {plan.changes.length - mostShown} more</li>}
      </Rows>
      <LeftOut left={left} labels={labels} />
    </Stack>
  );
}

/** LeftOut are the differences that a restore leaves as they are, with the reason. */
function LeftOut({ left, labels }: { left: Restored["left"]; labels: ReadonlyMap<string, string> }) {
  if (left.length === 0) return null;
  return (
    <Stack tight>
      <Strong>{`Not restored, ${plural(left.length, "change")}:`}</Strong>
      <Rows dense>
        {left.slice(0, mostLeft).map((change) => (
          <li key={change.key}>
            <Change change={change} labels={labels} />
          </li>
        ))}
        {left.length > mostLeft && <li>and {left.length - mostLeft} more</li>}
      </Rows>
    </Stack>
  );
}
