import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, request, type Schemas } from "../../api/client";
import { each } from "../../api/each";
import { useLabels, useTemplateNames } from "../../api/labels";
import { Act, done } from "../../ui/act";
import { inButtons } from "../../ui/buttons";
import { Change } from "../../ui/change";
import { withTemplates } from "../../ui/difference";
import { brief, count, plural, sentence, shortID } from "../../ui/format";
import { Panel, Row, Stack } from "../../ui/layout";
import type { Tone } from "../../ui/state";
import { Ago, Chip, Command, Faint, Muted, Prose, Strong, Text, To } from "../../ui/text";
import { UndoEffect, undo } from "../rollouts/UndoEffect";
import { isOfDevices, isTooMany } from "../settings/telling";
import { Sentences } from "../whatif/Sentences";
import { Answering, HeldChanges } from "./Held";
import { Silence } from "./Silence";
import { afterAnswer, commandOf, requestsOf, titles, verbOf } from "./waiting";
import { wholeGroup } from "./whole";

type WaitingGroup = Schemas["WaitingGroup"];
type Action = WaitingGroup["actions"][number];

const tones: Record<string, Tone> = { critical: "bad", warning: "wait", info: "busy" };

/** Group is one cause with all of its devices: one look, and one button that solves it. */
export function Group({ group }: { group: WaitingGroup }) {
  const labels = useLabels();
  const names = useTemplateNames();
  return (
    <Panel
      tone={tones[group.severity] ?? "wait"}
      title={titles[group.cause] ?? group.cause}
      actions={
        <Row>
          {group.cause === "enrollment" && <To href="/settings?tab=enrolment">With label and tags</To>}
          {group.rollout > 0 && <To href={`/rollouts/${group.rollout}`}>{`Rollout ${group.rollout}`}</To>}
          <Silence
            cause={group.cause}
            {...(group.deviceCount > 0 &&
              isOfDevices(group.cause) && { devices: () => devicesOf(group), isOfAll: isTooMany(group.deviceCount) })}
          />
          {[...group.actions].reverse().map((action) => (
            <Solve key={verbOf(action)} group={group} action={action} first={action === group.actions[0]} />
          ))}
        </Row>
      }
    >
      <Stack>
        <What group={group} labels={labels} names={names} />
        {group.next && (
          <Muted>
            <Prose>{brief(sentence(inButtons(group.next, buttonsOf(group))), 500)}</Prose>
          </Muted>
        )}
        {!isHeld(group) && <Devices group={group} />}
        {(group.templates.length > 0 || group.since) && (
          <Faint>
            {group.since && (
              <>
                Waits since <Ago at={group.since} />
                {group.templates.length > 0 && " · "}
              </>
            )}
            {group.templates.length > 0 && "asked for by "}
            {group.templates.map((id, i) => (
              <span key={id}>
                {i > 0 && ", "}
                <To href={`/templates/${id}`}>{names.get(id)?.slice(0, 80) || `template ${id}`}</To>
              </span>
            ))}
          </Faint>
        )}
      </Stack>
    </Panel>
  );
}

async function devicesOf(group: WaitingGroup): Promise<string[]> {
  const { devices } = group.deviceCount > group.devices.length ? await wholeGroup(group.id) : group;
  return devices.map(({ deviceID }) => deviceID);
}

const buttonsOf = ({ actions }: WaitingGroup) => actions.map((one) => ({ command: one.command, verb: verbOf(one) }));

const isHeld = (group: WaitingGroup) => group.devices.some(({ held }) => held.length > 0);

/** What is what waits, and why. Held changes stand there one by one, since an answer is for what is shown. */
function What(props: { group: WaitingGroup; labels: ReadonlyMap<string, string>; names: ReadonlyMap<number, string> }) {
  const { group } = props;
  if (isHeld(group)) {
    const more = group.deviceCount - group.devices.length;
    return (
      <Stack tight>
        <Strong>{plural(group.deviceCount, "device")}</Strong>
        {group.summary && <Sentences summary={group.summary} />}
        <HeldChanges changes={group.devices.flatMap(({ held }) => held)} />
        {more > 0 && <Faint>{plural(more, "device")} of them {more === 1 ? "is" : "are"} not listed here: all are shown before you answer</Faint>}
      </Stack>
    );
  }
  return (
    <>
      <Difference {...props} />
      <Text>
        <Prose>{brief(sentence(group.reason), 500)}</Prose>
      </Text>
    </>
  );
}

function Difference({
  group,
  labels,
  names,
}: {
  group: WaitingGroup;
  labels: ReadonlyMap<string, string>;
  names: ReadonlyMap<number, string>;
}) {
  if (group.from === null && group.to === null) {
    return group.subject ? <Strong>{brief(withTemplates(group.subject, names))}</Strong> : null;
  }
  return <Change change={{ key: group.subject, from: group.from, to: group.to }} labels={labels} />;
}

function Devices({ group }: { group: WaitingGroup }) {
  if (group.deviceCount === 0) return null;
  const detailed = group.devices.filter((device) => device.detail !== "");
  const names = (
    <Row>
      <Faint>{plural(group.deviceCount, "device")}</Faint>
      {group.devices.map((device) => (
        <Chip key={device.deviceID} href={`/devices/${device.deviceID}`} title={device.detail || device.label}>
          {device.label || shortID(device.deviceID)}
        </Chip>
      ))}
      {group.deviceCount > group.devices.length && <Faint>and {count(group.deviceCount - group.devices.length)} more</Faint>}
    </Row>
  );
  if (detailed.length === 0) return names;
  return (
    <Stack tight>
      {names}
      {detailed.map((device) => (
        <Faint key={device.deviceID}>
          {brief(device.label || shortID(device.deviceID), 60)}: {brief(device.detail, 400)}
        </Faint>
      ))}
    </Stack>
  );
}

const digest = "digest"; // of a plan: read when the button is pressed, not typed

const questions: Record<string, string> = {
  path: "Where to keep the folder on that device",
  apiKey: "The API key of its daemon",
  label: "Its label",
  name: "What to call it",
  fingerprint: "The fingerprint that you compared",
};

/** Solve is the button of an action. It asks for what only a person knows, and says what it touches. */
function Solve({ group, action, first }: { group: WaitingGroup; action: Action; first: boolean }) {
  const client = useQueryClient();
  const labels = useLabels();
  const names = useTemplateNames();
  const [shown, setShown] = useState<WaitingGroup>();
  const asked = action.ask.filter((name) => name !== digest);
  const [given, setAnswers] = useState<Record<string, string>>({});
  const answers = Object.fromEntries(
    asked.map((name) => [name, given[name] ?? (name === "path" ? group.devices[0]?.values.path : undefined) ?? ""]),
  );
  const verb = verbOf(action);
  const [undoOf, setUndoOf] = useState<Schemas["WhatIfPlan"]>();
  const undoes = action.name === "undo";

  const takeBack = async (title: string) => {
    const became = await undo(group.rollout, undoOf, title);
    void client.invalidateQueries();
    done(became);
  };

  const answer = async (title: string) => {
    if (!shown) throw new Error("what the answer is for is not loaded yet");
    const [one] = requestsOf(action, shown.devices, {});
    if (!one) return;
    const answered = (await request(one.method, one.path, one.body, title)) as Schemas["AnsweredConsents"];
    void client.invalidateQueries();
    done(afterAnswer(answered));
  };

  const solve = async (title: string) => {
    const whole = group.deviceCount > group.devices.length && action.each ? await wholeGroup(group.id) : group;
    const devices = action.ask.includes(digest) ? await withDigests(whole.devices) : whole.devices;
    const outcome = await each(
      requestsOf(action, devices, answers),
      ({ method, path, body }) => request(method, path, body, title),
      () => undefined,
    );
    void client.invalidateQueries();
    const refused = outcome.failed[0];
    if (refused) {
      const of = outcome.failed.length + outcome.done.length;
      throw new Error(of > 1 ? `${count(outcome.failed.length)} of ${count(of)} failed: ${refused.reason}` : refused.reason);
    }
    done(group.deviceCount > 0 ? `${verb}: ${plural(group.deviceCount, "device")}` : verb);
  };

  const command = commandOf(group, action, answers);
  const missing = asked.some((name) => !answers[name]?.trim());
  return (
    <Act
      needs={action.role}
      variant={first ? "filled" : "default"}
      {...(action.removes && first ? { color: "red" } : {})}
      run={async (title) => {
        if (missing) throw new Error("fill in what is asked for");
        if (undoes) await takeBack(title);
        else await (action.shown ? answer(title) : solve(title));
      }}
      confirm={{
        title: `${titles[group.cause] ?? group.cause}: ${verb.toLowerCase()}?`,
        verb,
        loads: undoes ? undoOf === undefined : action.shown && !shown,
        body: (
          <Stack>
            {action.shown ? (
              <>
                <Answering group={group} shows={setShown} />
                {action.choice && <Text>{sentence(action.choice.does)}</Text>}
                {action.name.endsWith("Rollout") && (
                  <Text>
                    The answer is also for equal changes of all other members of rollout {group.rollout}, now and later. They
                    are not shown here.
                  </Text>
                )}
              </>
            ) : (
              <>
                <What group={group} labels={labels} names={names} />
                {undoes ? <UndoEffect id={group.rollout} shows={setUndoOf} /> : <Devices group={group} />}
              </>
            )}
            {asked.map((name) => (
              <TextInput
                key={name}
                label={questions[name] ?? name}
                value={answers[name] ?? ""}
                onChange={(event) => setAnswers({ ...given, [name]: event.currentTarget.value })}
              />
            ))}
            {command && (
              <Stack tight>
                <Faint>The same on the command line:</Faint>
                <Command text={command} />
              </Stack>
            )}
          </Stack>
        ),
      }}
    >
      {verb}
    </Act>
  );
}

/** withDigests adds to each device the digest of the plan that it has now: that is the plan that is applied. */
function withDigests(devices: WaitingGroup["devices"]): Promise<WaitingGroup["devices"]> {
  return Promise.all(
    devices.map(async (device) => {
      const { deviceID } = device;
      const plan = await ask(api.GET("/api/v1/devices/{deviceID}/plan", { params: { path: { deviceID } } }));
      return { ...device, values: { ...device.values, digest: plan.digest } };
    }),
  );
}
