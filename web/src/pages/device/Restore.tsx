import { Button, Checkbox, Modal, Select } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../../api/client";
import { useMe } from "../../session/me";
import { includes, refusal } from "../../session/roles";
import { done, warn } from "../../ui/act";
import { Change } from "../../ui/change";
import { withLabels } from "../../ui/difference";
import { plural, sentence } from "../../ui/format";
import { Row, Rows, Stack } from "../../ui/layout";
import { Note, Wrong } from "../../ui/page";
import { Faint, Strong, Text } from "../../ui/text";

type Restored = Schemas["Restored"];

const everything = "";

/** Restore brings the device, or a section of its configuration, back to a revision. What is held asks for consent. */
export function Restore({
  id,
  number,
  sections,
  labels,
}: {
  id: string;
  number: number;
  sections: string[];
  labels: ReadonlyMap<string, string>;
}) {
  const me = useMe();
  const may = includes(me.role, "operator");
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        disabled={!may}
        title={may ? undefined : refusal(me.role, "operator")}
        onClick={() => setOpened(true)}
      >
        Restore revision {number}…
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title={`Restore revision ${number}?`} size="lg">
        <Ask id={id} number={number} sections={sections} labels={labels} onClose={() => setOpened(false)} />
      </Modal>
    </>
  );
}

function Ask({
  id,
  number,
  sections,
  labels,
  onClose,
}: {
  id: string;
  number: number;
  sections: string[];
  labels: ReadonlyMap<string, string>;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [section, setSection] = useState(everything);
  const [held, setHeld] = useState<Restored>(); // nothing was sent, because of it
  const [consent, setConsent] = useState<string[]>([]);
  const restore = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/v1/devices/{deviceID}/revisions/{number}/restore", {
          params: { path: { deviceID: id, number } },
          body: { section, ...(held && consent.length > 0 ? { digest: held.plan.digest, consent } : {}) },
        }),
      ),
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
  const waiting = held?.plan.changes.filter((change) => change.class === "held") ?? [];
  return (
    <Stack>
      <Select
        label="What"
        data={[
          { value: everything, label: "Everything" },
          ...sections.map((one) => ({ value: one, label: withLabels(one, labels).slice(0, 120) })),
        ]}
        value={section}
        allowDeselect={false}
        onChange={(value) => {
          setSection(value ?? everything);
          setHeld(undefined);
        }}
      />
      <Text>
        The daemon gets {section ? <Strong>{withLabels(section, labels)}</Strong> : "the configuration"} of revision{" "}
        <Strong>{number}</Strong>, as far as no template says otherwise. What is there now stays in the history, so that
        you can come back. A password is never put back.
      </Text>
      {held && <Note>{[held.reason, held.next].filter(Boolean).map(sentence).join(" ")}</Note>}
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
      {restore.error && <Wrong error={restore.error} />}
      <Row end>
        {waiting.length > consent.length && <Faint>Nothing is sent before every held change has your consent.</Faint>}
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={restore.isPending} onClick={() => restore.mutate()} data-autofocus>
          {consent.length > 0 ? "Restore with this consent" : "Restore"}
        </Button>
      </Row>
    </Stack>
  );
}
