import { Button, Modal, NumberInput, PasswordInput, Tabs, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { api, ask, root } from "../../api/client";
import { each } from "../../api/each";
import { useHasLabel } from "../../api/labels";
import { asProblem, Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { Act, done } from "../../ui/act";
import { DraftNotes } from "../../ui/draftnotes";
import { plural, sentence } from "../../ui/format";
import { useFormDraft } from "../../ui/formdraft";
import { Columns, Row, Rows, Stack } from "../../ui/layout";
import { Ghosts, Note } from "../../ui/page";
import { Command, Faint, Mono, Strong, Text, To } from "../../ui/text";
import { useKeptBefore } from "../../ui/usekept";
import { agentCommand, useFingerprint } from "./agentline";
import { noting, NotReached, testAccess, wrongAt, type DeviceTest } from "./access";
import { hostAndPort, readPaste, type NewDevice } from "./paste";
import { Already, Tested } from "./Tested";

const NewKey = lazy(async () => ({ default: (await import("../settings/Enrolment")).NewKey }));

/** register puts one device into the registry, then its tags on it. */
async function register({ deviceID, label, apiAddress, apiPort, apiKey, tags }: NewDevice) {
  const made = await ask(
    api.PUT("/api/v1/devices/{deviceID}", {
      params: { path: { deviceID }, query: { mask: true }, header: { "If-None-Match": "*" } },
      body: { label, apiAddress, apiPort, apiKey },
    }),
  ).catch((error: unknown) => {
    if (asProblem(error).status !== 412) throw error;
    throw new Problem({ status: 412, detail: "this device is registered already", hint: "Its page changes address and API key." });
  });
  for (const tag of tags) {
    await ask(
      api.PUT("/api/v1/devices/{deviceID}/tags/{tag}", { params: { path: { deviceID: made.deviceID, tag } } }),
    );
  }
}

const isTLS = root.startsWith("https:");

/** Access is a new device without its API key, which no draft keeps. */
type Access = Omit<NewDevice, "apiKey">;

const empty: Access = { deviceID: "", label: "", apiAddress: "", apiPort: 8384, tags: [] };
const draftName = "devices/add";

/** mayBeID tells a text that has the letters and the length of a device ID; the server checks it. */
const mayBeID = (text: string) => /^[A-Z2-7 -]{52,80}$/i.test(text);
const textOf = ({ deviceID, label, apiAddress, apiPort, tags }: Access) =>
  JSON.stringify([deviceID.trim(), label, apiAddress, apiPort, [...tags].sort()]);

export function AddDevices({ opened, onClose, may }: { opened: boolean; onClose: () => void; may: boolean }) {
  return (
    <Modal opened={opened} onClose={onClose} size="xl" title="Add devices">
      <Ways onClose={onClose} may={may} />
    </Modal>
  );
}

/** Ways are the ways to add devices. Where somebody began to fill one in, that shows first. */
function Ways({ onClose, may }: { onClose: () => void; may: boolean }) {
  const wasLeft = useKeptBefore(draftName, empty, textOf) !== undefined;
  return (
    <Tabs defaultValue={isTLS && !wasLeft ? "agent" : "one"}>
      <Tabs.List>
        <Tabs.Tab value="agent">By its agent</Tabs.Tab>
        <Tabs.Tab value="one">One, by address</Tabs.Tab>
        <Tabs.Tab value="many">Many, pasted</Tabs.Tab>
        <Tabs.Tab value="enroll">By muster enroll</Tabs.Tab>
      </Tabs.List>
      {!may && <Note>Your role may not add devices. Ask an administrator.</Note>}
      <Tabs.Panel value="agent" pt="md">
        <Agent />
      </Tabs.Panel>
      <Tabs.Panel value="one" pt="md">
        <One onClose={onClose} />
      </Tabs.Panel>
      <Tabs.Panel value="many" pt="md">
        <Many onClose={onClose} />
      </Tabs.Panel>
      <Tabs.Panel value="enroll" pt="md">
        <Stack>
          <Text>
            Type this on the machine of the daemon. It reads the daemon’s ID, API key and certificate, and registers
            them here. Nothing has to be copied by hand. Without --token it asks for none on the machine of this
            server.
          </Text>
          <Command text={`muster enroll --server ${root} --token TOKEN`} />
          <Faint>
            TOKEN is one of an administrator. <To href="/settings?tab=tokens">Settings, Tokens</To> makes one that ends
            by itself.
          </Faint>
        </Stack>
      </Tabs.Panel>
    </Tabs>
  );
}

/** Agent is the way for a daemon that listens on its own machine only: one line to type there. */
function Agent() {
  const fingerprint = useFingerprint();
  if (!isTLS) {
    return (
      <Stack>
        <Text>
          An agent runs beside the daemon, dials out, and proves the device with the device’s own certificate: no port is
          opened and no API key is copied.
        </Text>
        <Note>
          This server is reached by plain HTTP, which agents do not trust. Start it with another --listen address than
          this machine’s own, or with --tls-cert: the line to type shows here then. A daemon on this machine is added by
          its address.
        </Note>
      </Stack>
    );
  }
  return (
    <Stack>
      <Text>
        Type this on the machine of the daemon. The agent finds the daemon, dials out, and proves the device with the
        device’s own certificate: no port is opened and no API key is copied.
      </Text>
      <Command text={agentCommand(fingerprint)} />
      <Text>It then asks to be accepted: you find it on the page What waits, seconds later.</Text>
      <Strong>Or let devices in at once, by an enrol key</Strong>
      <Suspense fallback={<Ghosts rows={2} />}>
        <NewKey />
      </Suspense>
    </Stack>
  );
}

function One({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const known = useQuery(queries.tags());
  const form = useFormDraft(undefined, empty, textOf, { keep: draftName });
  const device = form.draft;
  const [apiKey, setKey] = useState("");
  const [test, setTest] = useState<DeviceTest>();
  const [error, setError] = useState<unknown>();
  const hasLabel = useHasLabel();
  const given = { ...device, deviceID: device.deviceID.trim(), apiKey: apiKey.trim(), ...hostAndPort(device.apiAddress) };
  const retry = () => {
    setTest(undefined);
    setError(undefined);
  };
  const set = (part: Partial<Access>) => {
    form.setDraft({ ...device, ...part });
    retry();
  };
  const add = async () => {
    await register(given);
    done(`${given.label || "The device"} is registered`);
    form.discard();
    setKey("");
    void client.invalidateQueries();
    onClose();
  };
  const noted = noting(setError);
  const tested = noted(async () => {
    const result = await testAccess(given);
    setTest(result);
    if (!result || (result.problem === "" && !result.registered)) await add();
  });
  return (
    <Stack>
      <DraftNotes form={form} what="this device" />
      <TextInput
        label="Device ID"
        description="In Syncthing: Actions, Show ID"
        error={wrongAt("deviceID", error, test)}
        value={device.deviceID}
        onChange={(event) => set({ deviceID: event.currentTarget.value })}
        data-autofocus
      />
      <Columns>
        <TextInput
          label="Label"
          description="What to call it here"
          error={wrongAt("label", error, test)}
          value={device.label}
          onChange={(event) => set({ label: event.currentTarget.value })}
        />
        <TextInput
          label="Address of its GUI"
          description="Blank: it is discovered"
          placeholder="10.0.0.7"
          error={wrongAt("apiAddress", error, test)}
          value={device.apiAddress}
          onChange={(event) => set({ apiAddress: event.currentTarget.value })}
          onBlur={() => form.setDraft({ ...device, ...hostAndPort(device.apiAddress) })}
        />
        <NumberInput
          size="xs"
          label="Port"
          description="8384 unless it was changed"
          error={wrongAt("apiPort", error, test)}
          min={1}
          max={65535}
          value={device.apiPort}
          onChange={(value) => set({ apiPort: Number(value) || 8384 })}
        />
      </Columns>
      <PasswordInput
        label="API key"
        description="In Syncthing: Actions, Settings, GUI"
        autoComplete="off"
        error={wrongAt("apiKey", error, test)}
        value={apiKey}
        onChange={(event) => {
          setKey(event.currentTarget.value);
          retry();
        }}
      />
      <TagsInput size="xs" label="Tags" data={known.data ?? []} value={device.tags} onChange={(tags) => form.setDraft({ ...device, tags })} maxLength={128} />
      {test?.registered && <Already deviceID={given.deviceID} label={test.label} />}
      {test && !test.registered && <Tested test={test} />}
      <Row end>
        <Button
          variant="default"
          onClick={() => {
            form.discard();
            onClose();
          }}
        >
          Cancel
        </Button>
        {test && test.problem !== "" && !test.registered && (
          <Act needs="admin" run={noted(add)}>
            Add anyway
          </Act>
        )}
        <Act
          needs="admin"
          variant="filled"
          disabled={device.deviceID.trim() === "" || apiKey === ""}
          why="Device ID and API key are needed."
          confirm={
            mayBeID(given.deviceID) && hasLabel(device.label, given.deviceID)
              ? {
                  title: "Give the label to a second device?",
                  verb: "Add",
                  untitled: true,
                  body: (
                    <Text>
                      A device has the label {device.label.slice(0, 60)} already. Commands could not tell the two apart by it.
                    </Text>
                  ),
                }
              : undefined
          }
          run={tested}
        >
          Add
        </Act>
      </Row>
    </Stack>
  );
}

function Many({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [failures, setFailures] = useState<{ item: NewDevice; reason: string }[]>([]);
  const [unreached, setUnreached] = useState<ReadonlySet<NewDevice>>(new Set());
  const { devices, errors } = readPaste(text);
  const hasLabel = useHasLabel();
  const alike = devices.filter((one, at) => hasLabel(one.label) || (one.label !== "" && devices.findIndex((other) => other.label === one.label) < at));
  const add = (these: NewDevice[], tries: boolean) => async () => {
    const missed = new Set<NewDevice>();
    const outcome = await each(
      these,
      async (device) => {
        const test = tries ? await testAccess(device) : undefined;
        if (test && test.problem !== "" && !test.registered) {
          missed.add(device);
          throw new NotReached(test);
        }
        await register(device);
      },
      () => undefined,
    );
    setFailures(outcome.failed);
    setUnreached(missed);
    void client.invalidateQueries();
    if (outcome.done.length > 0) done(`${plural(outcome.done.length, "device")} added`);
    if (outcome.failed.length === 0) {
      setText("");
      onClose();
    }
  };
  return (
    <Stack>
      <Textarea
        size="xs"
        label="One device on each line"
        description="ID, label, address, port, API key, tags with spaces between; separated by commas or tabs"
        minRows={8}
        autosize
        maxRows={16}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setUnreached(new Set());
        }}
      />
      {text.trim() !== "" && (
        <Text>
          {plural(devices.length, "device")} can be added{errors.length > 0 && `, ${plural(errors.length, "line")} cannot be read`}.
        </Text>
      )}
      <Rows>
        {errors.slice(0, 10).map((error) => (
          <li key={error.line}>
            <Mono>line {error.line}</Mono>
            <Text>{error.message}</Text>
          </li>
        ))}
        {failures.slice(0, 50).map(({ item, reason }) => (
          <li key={item.deviceID}>
            <Strong>{item.label || item.deviceID}</Strong>
            <Text>{sentence(reason)}</Text>
          </li>
        ))}
      </Rows>
      <Row end>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        {unreached.size > 0 && (
          <Act needs="admin" run={add([...unreached], false)}>
            {`Add ${plural(unreached.size, "device")} anyway`}
          </Act>
        )}
        <Act
          needs="admin"
          variant="filled"
          disabled={devices.length === 0}
          why="Paste at least one device."
          confirm={
            alike.length > 0
              ? {
                  title: "Give labels to second devices?",
                  verb: "Add",
                  untitled: true,
                  body: (
                    <Text>
                      Commands could not tell devices apart by these labels, which another has:{" "}
                      {alike.slice(0, 10).map((one) => one.label.slice(0, 60)).join(", ")}
                      {alike.length > 10 && ` and ${alike.length - 10} more`}.
                    </Text>
                  ),
                }
              : undefined
          }
          run={add(devices, true)}
        >
          Add {plural(devices.length, "device")}
        </Act>
      </Row>
    </Stack>
  );
}
