import { Button, MultiSelect, PasswordInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, titled, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act, done } from "../../ui/act";
import { DraftNotes } from "../../ui/draftnotes";
import { useFormDraft } from "../../ui/formdraft";
import { Grow, Panel, Row, Rows, Stack } from "../../ui/layout";
import { Loads, Note } from "../../ui/page";
import { Ago, Faint, Mono, Strong, Text } from "../../ui/text";
import { useKeptBefore } from "../../ui/usekept";

type Setting = Schemas["Setting"];

/** General are the settings of the server that hold without a restart. */
export default function General() {
  const settings = useQuery(queries.settings());
  return (
    <Loads query={settings}>
      {(all) => (
        <Stack>
          {[...new Set(all.map((one) => one.group))].map((group) => (
            <Panel key={group} title={group} flush>
              <Rows>
                {all
                  .filter((one) => one.group === group)
                  .map((one) => (
                    <li key={one.name} data-setting={one.name}>
                      <OneSetting setting={one} />
                    </li>
                  ))}
              </Rows>
            </Panel>
          ))}
        </Stack>
      )}
    </Loads>
  );
}

/** draftOf names the draft of a setting. A secret has none. */
const draftOf = ({ name, kind }: Setting) => (kind === "secret" ? undefined : `setting/${name}`);

const storedIn = ({ stored, value }: Setting) => stored ?? value;

function OneSetting({ setting }: { setting: Setting }) {
  const isAdmin = useMay("admin");
  const wasLeft = useKeptBefore(draftOf(setting), storedIn(setting), String) !== undefined;
  const [editing, setEditing] = useState(wasLeft);
  return (
    <Stack tight>
      <Row>
        <Grow>
          <Stack tight>
            <Text>{setting.help}</Text>
            <Faint>
              <Mono>{setting.name}</Mono> · {setting.from}
              {setting.source === "database" && setting.setAt && (
                <>
                  {" "}
                  <Ago at={setting.setAt} />
                </>
              )}
              {setting.restart && " · a change holds after the next start of the server"}
            </Faint>
          </Stack>
        </Grow>
        <Strong>{setting.shown}</Strong>
        {isAdmin && !editing && (
          <Button
            variant="default"
            size="compact-xs"
            aria-label={`Change ${setting.name}`}
            onClick={() => setEditing(true)}
          >
            Change
          </Button>
        )}
      </Row>
      {setting.warning && <Note>{setting.warning}</Note>}
      {isAdmin && editing && <EditSetting setting={setting} close={() => setEditing(false)} />}
    </Stack>
  );
}

function EditSetting({ setting, close }: { setting: Setting; close: () => void }) {
  const client = useQueryClient();
  const form = useFormDraft(storedIn(setting), "", String, { keep: draftOf(setting) });
  const { draft: value, setDraft: setValue } = form;
  const stored = () => {
    form.saved();
    void client.invalidateQueries({ queryKey: ["settings"] });
    close();
  };
  const params = { path: { setting: setting.name } };
  const holdsSecret = setting.kind === "secret" && setting.shown !== "none";
  const put = async (title: string) => {
    await ask(titled(title).PUT("/api/v1/settings/{setting}", { params, body: { value } }));
    stored();
  };
  const reset = async (title: string) => {
    await ask(titled(title).POST("/api/v1/settings/{setting}/reset", { params }));
    stored();
  };
  const former = setting.hasStored ? setting.stored : undefined;
  const isSecret = setting.kind === "secret" && setting.hasStored; // Nobody reads it, so nobody can put it back.
  const back = isSecret
    ? undefined
    : async () => {
        if (former === undefined) await ask(api.POST("/api/v1/settings/{setting}/reset", { params }));
        else await ask(api.PUT("/api/v1/settings/{setting}", { params, body: { value: former } }));
        void client.invalidateQueries({ queryKey: ["settings"] });
      };
  const asks = (verb: string, to: string) =>
    setting.deletes && {
      confirm: {
        title: `${verb} ${setting.name}?`,
        verb,
        body: (
          <Text>
            It becomes {to} instead of {setting.shown}. A smaller value deletes {setting.deletes}, for good.
          </Text>
        ),
      },
    };
  return (
    <Stack tight>
      <DraftNotes form={form} what={setting.name} />
      <Value setting={setting} value={value} setValue={setValue} />
      <Row>
        <Act
          needs="admin"
          size="compact-sm"
          variant="filled"
          disabled={value === setting.stored || (setting.kind === "secret" && value === "")}
          why="Nothing was changed."
          says={`${setting.name} is saved`}
          undo={back}
          run={put}
          {...asks("Save", value)}
        >
          Save
        </Act>
        {setting.tests && (
          <Act
            needs="admin"
            size="compact-sm"
            disabled={value === "" && !holdsSecret}
            why="There is nothing to try."
            run={async () => {
              const body = holdsSecret && value === "" ? {} : { value };
              const tried = await ask(api.POST("/api/v1/settings/{setting}/test", { params, body }));
              done(tried.found);
            }}
          >
            Try it
          </Act>
        )}
        {setting.hasStored && (
          <Act
            needs="admin"
            size="compact-sm"
            says={`${setting.name} has its default`}
            undo={back}
            run={reset}
            {...asks("Reset", setting.default)}
          >
            Reset
          </Act>
        )}
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={() => {
            form.discard();
            close();
          }}
        >
          Cancel
        </Button>
      </Row>
    </Stack>
  );
}

function Value({
  setting,
  value,
  setValue,
}: {
  setting: Setting;
  value: string;
  setValue: (value: string) => void;
}) {
  const what = { size: "xs", label: setting.name, description: `${setting.range}. Default ${setting.default || "none"}` };
  const known = useQuery({ ...queries.tags(), enabled: setting.kind === "tags" });
  if (setting.kind === "switch" || setting.kind === "choice")
    return (
      <Select
        {...what}
        data={setting.choices ?? ["true", "false"]}
        value={value}
        allowDeselect={false}
        onChange={(to) => setValue(to ?? "")}
      />
    );
  if (setting.kind === "tags")
    return (
      <TagsInput
        {...what}
        data={known.data ?? []}
        value={value === "" ? [] : value.split(",")}
        onChange={(chosen) => setValue(chosen.toSorted().join(","))}
      />
    );
  if (setting.kind === "choices")
    return (
      <MultiSelect
        {...what}
        data={setting.choices ?? []}
        value={value === "" ? [] : value.split(",")}
        onChange={(chosen) => setValue(chosen.toSorted().join(","))}
      />
    );
  if (setting.kind === "secret")
    return (
      <PasswordInput
        {...what}
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    );
  return <TextInput {...what} value={value} data-autofocus onChange={(event) => setValue(event.currentTarget.value)} />;
}
