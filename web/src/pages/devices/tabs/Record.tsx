import { NumberInput, PasswordInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { send, titled, type Schemas } from "../../../api/client";
import { useHasLabel } from "../../../api/labels";
import { asProblem, Problem } from "../../../api/problem";
import { queries } from "../../../api/queries";
import { useMe } from "../../../session/me";
import { includes, refusal } from "../../../session/roles";
import { Act, done, warn } from "../../../ui/act";
import { DraftNotes } from "../../../ui/draftnotes";
import { useFormDraft } from "../../../ui/formdraft";
import { Columns, Row, Stack } from "../../../ui/layout";
import { Loads, Note } from "../../../ui/page";
import { Faint, Text } from "../../../ui/text";
import { TitleField } from "../../../ui/title";
import { Effect } from "../../whatif/Effect";
import { noting, testAccess, wrongAt, type AccessField, type DeviceTest } from "../access";
import { hostAndPort } from "../paste";
import { Tested } from "../Tested";

/** Record is a device's label and how its daemon is reached, to be changed where it is shown. */
export function Record({ id }: { id: string }) {
  const record = useQuery(queries.deviceRecord(id));
  return <Loads query={record}>{({ data, etag }) => <Fields record={data} etag={etag} />}</Loads>;
}

function Fields({ record, etag }: { record: Schemas["Device"]; etag: string }) {
  const client = useQueryClient();
  const me = useMe();
  const hasLabel = useHasLabel();
  const may = includes(me.role, "admin");
  const stored = { label: record.label, apiAddress: record.apiAddress, apiPort: record.apiPort };
  const form = useFormDraft(stored, stored, textOf, { keep: `device/${record.deviceID}/record` });
  const [apiKey, setKey] = useState(""); // no draft keeps it
  const [title, setTitle] = useState("");
  const [test, setTest] = useState<DeviceTest>();
  const [error, setError] = useState<unknown>();
  const given = { ...form.draft, apiKey: apiKey.trim(), ...hostAndPort(form.draft.apiAddress) };
  const renamed = given.label !== stored.label;
  const moved = given.apiAddress !== stored.apiAddress || given.apiPort !== stored.apiPort || given.apiKey !== "";
  const dirty = renamed || moved;
  const retry = () => {
    setTest(undefined);
    setError(undefined);
  };
  const set = (part: Partial<typeof stored>) => {
    form.setDraft({ ...form.draft, ...part });
    retry();
  };
  const field = (name: AccessField) => ({ size: "xs", disabled: !may, error: wrongAt(name, error, test) });

  const put = (body: Put, match: string, why: string) => {
    const params = { path: { deviceID: record.deviceID }, query: { mask: true }, header: { "If-Match": match } };
    return send(titled(why).PUT("/api/v1/devices/{deviceID}", { params, body }));
  };
  const save = async () => {
    const { label, apiAddress, apiPort } = given;
    const body = { label, apiAddress, apiPort, ...(given.apiKey ? { apiKey: given.apiKey } : {}) };
    const answer = await put(body, etag, title).catch((failure: unknown) => {
      if (asProblem(failure).status !== 412) throw failure;
      void client.invalidateQueries({ queryKey: ["device", record.deviceID] });
      throw new Problem({ status: 412, detail: "somebody else changed this device meanwhile", hint: "Nothing was saved. The page says now what to do with your text." });
    });
    if (answer.warning) warn(`Templates of this device read its label. The tab Plan shows what changes.`);
    form.saved();
    setKey("");
    setTitle("");
    retry();
    void client.invalidateQueries();
    if (given.apiKey) done("Saved. The former API key is not kept: nothing brings it back");
    else done("Saved").undo(() => put(stored, answer.etag, "").then(() => client.invalidateQueries()));
  };
  const noted = noting(setError);
  const tested = noted(async () => {
    const result = moved ? await testAccess({ deviceID: record.deviceID, ...given }) : undefined;
    setTest(result);
    if (!result || result.problem === "") await save();
  });
  return (
    <Stack>
      <DraftNotes form={form} what="this device" />
      <Columns>
        <TextInput {...field("label")} label="Label" value={form.draft.label} onChange={(event) => set({ label: event.currentTarget.value })} />
        <TextInput
          {...field("apiAddress")}
          label="Address of its GUI"
          description="Blank: it is discovered"
          value={form.draft.apiAddress}
          onChange={(event) => set({ apiAddress: event.currentTarget.value })}
          onBlur={() => form.setDraft({ ...form.draft, ...hostAndPort(form.draft.apiAddress) })}
        />
        <NumberInput
          {...field("apiPort")}
          label="Port"
          min={1}
          max={65535}
          value={form.draft.apiPort}
          onChange={(value) => set({ apiPort: Number(value) || 8384 })}
        />
      </Columns>
      <PasswordInput
        {...field("apiKey")}
        label="Replace the API key"
        description="In Syncthing: Actions, Settings, GUI. Blank: the stored key stays. It is never shown"
        autoComplete="off"
        value={apiKey}
        onChange={(event) => {
          setKey(event.currentTarget.value);
          retry();
        }}
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
                form.discard();
                setKey("");
                setTitle("");
                retry();
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

type Put = Pick<Schemas["PutDevice"], "label" | "apiAddress" | "apiPort" | "apiKey">;

const textOf = (draft: object) => JSON.stringify(draft);

/** Renamed is what another label changes, because templates may read it. */
function Renamed({ id, label }: { id: string; label: string }) {
  const [late] = useDebouncedValue(label, 400);
  const plan = useQuery(queries.relabelled(id, late));
  return <Loads query={plan} rows={2}>{(data) => <Effect plan={data} idle="No template of this device reads its label." />}</Loads>;
}
