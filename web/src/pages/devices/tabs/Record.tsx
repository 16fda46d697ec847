import { NumberInput, PasswordInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, send, titled, type Schemas } from "../../../api/client";
import { useHasLabel } from "../../../api/labels";
import { asProblem, Problem } from "../../../api/problem";
import { queries } from "../../../api/queries";
import { useMe } from "../../../session/me";
import { includes, refusal } from "../../../session/roles";
import { Act, done, doneWithUndo, warn } from "../../../ui/act";
import { KeptNote } from "../../../ui/keptnote";
import { Columns, Row, Stack } from "../../../ui/layout";
import { Loads, Note } from "../../../ui/page";
import { Faint, Text } from "../../../ui/text";
import { TitleField } from "../../../ui/title";
import { useKeeps, useKeptBefore } from "../../../ui/usekept";
import { Effect } from "../../whatif/Effect";
import { noting, testAccess, wrongAt, type AccessField, type DeviceTest } from "../access";
import { hostAndPort } from "../paste";
import { Tested } from "../Tested";

/** Record is a device's label and how its daemon is reached, to be changed where it is shown. */
export function Record({ id }: { id: string }) {
  const record = useQuery(queries.deviceRecord(id));
  return <Loads query={record}>{({ data, etag }) => <Fields key={etag} record={data} etag={etag} />}</Loads>;
}

function Fields({ record, etag }: { record: Schemas["Device"]; etag: string }) {
  const client = useQueryClient();
  const me = useMe();
  const hasLabel = useHasLabel();
  const may = includes(me.role, "admin");
  const stored = { label: record.label, apiAddress: record.apiAddress, apiPort: record.apiPort, apiKey: "" };
  const name = `device/${record.deviceID}/record`;
  const kept = useKeptBefore(name, stored, textOf);
  const [draft, setDraft] = useState(kept ? { ...kept.draft, apiKey: "" } : stored);
  const [restoredAt, setRestoredAt] = useState(kept && (kept.at ?? 0));
  const [title, setTitle] = useState("");
  const [test, setTest] = useState<DeviceTest>();
  const [error, setError] = useState<unknown>();
  const given = { ...draft, apiKey: draft.apiKey.trim(), ...hostAndPort(draft.apiAddress) };
  const renamed = given.label !== stored.label;
  const moved = given.apiAddress !== stored.apiAddress || given.apiPort !== stored.apiPort || given.apiKey !== "";
  const dirty = renamed || moved;
  const { forget } = useKeeps(name, dirty, textOf(stored), { ...draft, apiKey: "" }); // The key is not kept.
  const set = (part: Partial<typeof draft>) => {
    setDraft({ ...draft, ...part });
    setTest(undefined);
    setError(undefined);
  };
  const field = (name: AccessField) => ({ size: "xs", disabled: !may, error: wrongAt(name, error, test) });

  const save = async () => {
    const { label, apiAddress, apiPort, apiKey } = given;
    const answer = await send(
      titled(title).PUT("/api/v1/devices/{deviceID}", {
        params: {
          path: { deviceID: record.deviceID },
          query: { mask: true },
          header: { "If-Match": etag },
        },
        body: { label, apiAddress, apiPort, ...(apiKey ? { apiKey } : {}) },
      }),
    ).catch((failure: unknown) => {
      if (asProblem(failure).status !== 412) throw failure;
      void client.invalidateQueries({ queryKey: ["device", record.deviceID] });
      throw new Problem({ status: 412, detail: "somebody else changed this device meanwhile", hint: "Nothing was saved. The page now shows the device as it is: change it again." });
    });
    if (answer.warning) warn(`Templates of this device read its label. The tab Plan shows what changes.`);
    forget();
    void client.invalidateQueries();
    if (apiKey) done("Saved. The former API key is not kept: nothing brings it back");
    else doneWithUndo("Saved", restore);
  };
  const restore = async () => {
    const { label, apiAddress, apiPort } = stored;
    const params = { path: { deviceID: record.deviceID }, query: { mask: true } };
    await ask(api.PUT("/api/v1/devices/{deviceID}", { params, body: { label, apiAddress, apiPort } }));
    void client.invalidateQueries();
  };
  const noted = noting(setError);
  const tested = noted(async () => {
    const result = moved ? await testAccess({ deviceID: record.deviceID, ...given }) : undefined;
    setTest(result);
    if (!result || result.problem === "") await save();
  });
  return (
    <Stack>
      {restoredAt !== undefined && dirty && (
        <KeptNote
          at={restoredAt}
          onContinue={() => setRestoredAt(undefined)}
          onDiscard={() => {
            set(stored);
            setRestoredAt(undefined);
          }}
        />
      )}
      <Columns>
        <TextInput {...field("label")} label="Label" value={draft.label} onChange={(event) => set({ label: event.currentTarget.value })} />
        <TextInput
          {...field("apiAddress")}
          label="Address of its GUI"
          description="Blank: it is discovered"
          value={draft.apiAddress}
          onChange={(event) => set({ apiAddress: event.currentTarget.value })}
          onBlur={() => setDraft({ ...draft, ...hostAndPort(draft.apiAddress) })}
        />
        <NumberInput
          {...field("apiPort")}
          label="Port"
          min={1}
          max={65535}
          value={draft.apiPort}
          onChange={(value) => set({ apiPort: Number(value) || 8384 })}
        />
      </Columns>
      <PasswordInput
        {...field("apiKey")}
        label="Replace the API key"
        description="In Syncthing: Actions, Settings, GUI. Blank: the stored key stays. It is never shown"
        autoComplete="off"
        value={draft.apiKey}
        onChange={(event) => set({ apiKey: event.currentTarget.value })}
      />
      {!may && <Faint>{refusal(me.role, "admin")}</Faint>}
      {dirty && (
        <>
          {renamed && <Renamed id={record.deviceID} label={given.label} />}
          <TitleField value={title} onChange={setTitle} />
          {test && <Tested test={test} />}
          <Row>
            <Act
              needs="admin"
              variant="filled"
              run={tested}
              {...(renamed && hasLabel(given.label)
                ? {
                    confirm: {
                      untitled: true,
                      title: "Give the label to a second device?",
                      verb: "Save",
                      body: <Text>A device has the label {given.label.slice(0, 60)} already. Commands could not tell the two apart by it.</Text>,
                    },
                  }
                : {})}
            >
              {moved && given.apiAddress !== "" ? "Test and save" : "Save"}
            </Act>
            {test && test.problem !== "" && (
              <Act needs="admin" run={noted(save)}>
                Save anyway
              </Act>
            )}
            <Act
              needs="viewer"
              run={() => {
                set(stored);
                setTitle("");
                return Promise.resolve();
              }}
            >
              Discard
            </Act>
          </Row>
        </>
      )}
      {moved && given.apiAddress === "" && <Note>Without an address, nothing can be tried before it is saved. Muster then looks for the device.</Note>}
    </Stack>
  );
}

const textOf = (draft: object) => JSON.stringify(draft);

/** Renamed is what another label changes, because templates may read it. */
function Renamed({ id, label }: { id: string; label: string }) {
  const [late] = useDebouncedValue(label, 400);
  const plan = useQuery(queries.relabelled(id, late));
  return <Loads query={plan} rows={2}>{(data) => <Effect plan={data} idle="No template of this device reads its label." />}</Loads>;
}
