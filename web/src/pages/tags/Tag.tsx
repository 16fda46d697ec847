import { MultiSelect, Select, Switch } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, titled, type Schemas } from "../../api/client";
import { inventory, type InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { done, failed, warn } from "../../ui/act";
import { plural, shortID } from "../../ui/format";
import { QuietAfter } from "../../ui/QuietAfter";
import { Columns, Panel, Rows, Split, Stack } from "../../ui/layout";
import { Loads, Note, Nothing, Page } from "../../ui/page";
import { modes, State } from "../../ui/state";
import { modeChoices } from "../../ui/stopping";
import { Faint, Muted, To } from "../../ui/text";
import { Orders } from "../orders/Orders";
import { FolderRoots } from "../settings/FolderRoots";
import { Planned } from "../whatif/Planned";
import { tagChanges } from "./tagchanges";
import { ExportVars, Vars } from "../vars/Vars";

/** Tag is what one tag ties together, and what holds for the devices that carry it. */
export default function Tag({ tag }: { tag: string }) {
  const settings = useQuery(queries.tagSettings(tag));
  const protection = useQuery(queries.tagProtection(tag));
  return (
    <Page
      title={tag}
      crumb={{ href: "/tags", text: "Tags" }}
      updatedAt={settings.dataUpdatedAt}
      sub={settings.data && settings.data.mode !== "on" && <State badges={modes} state={settings.data.mode} filled />}
    >
      <Split>
        <Carriers tag={tag} />
        <Stack>
          <Panel title="Writing">
            <Loads query={settings} rows={2}>
              {(data) => <Mode tag={tag} settings={data} />}
            </Loads>
          </Panel>
          <Panel title="Away">
            <Loads query={settings} rows={2}>
              {({ quietAfter }) => <Quiet key={quietAfter} tag={tag} seconds={quietAfter} />}
            </Loads>
          </Panel>
          <Panel title="Further folder roots">
            <Loads query={settings} rows={2}>
              {({ folderRoots }) => <Roots key={tag} tag={tag} roots={folderRoots} />}
            </Loads>
          </Panel>
          <Panel title="Vars" actions={<ExportVars of={{ tag }} />}>
            <Vars of={{ tag }} />
          </Panel>
          <Orders target={{ tag }} />
          <Panel title="Protection">
            <Loads query={protection} rows={1}>
              {(data) => <Protection tag={tag} isProtected={data.protected} />}
            </Loads>
          </Panel>
        </Stack>
      </Split>
    </Page>
  );
}

/** Carriers are the devices and templates with the tag. What is added or taken off shows its plan before. */
function Carriers({ tag }: { tag: string }) {
  const client = useQueryClient();
  const fleet = useQuery(inventory());
  const all = useQuery(queries.templates());
  const tagged = useQuery(queries.tagTemplates(tag));
  const rows = fleet.data?.devices ?? [];
  const carriers = rows.filter((row) => row.tags.includes(tag)).map((row) => row.deviceID);
  const templates = (tagged.data ?? []).map((one) => String(one.id));
  const [added, setAdded] = useState<string[]>([]);
  const [off, setOff] = useState<string[]>([]);
  const [chosen, setChosen] = useState<string[]>();
  const after = [...carriers.filter((id) => !off.includes(id)), ...added];
  const body = {
    tags: tagChanges(tag, { devices: carriers, templates }, { devices: after, templates: chosen ?? templates }),
  };
  const changes = body.tags.added.length + body.tags.removed.length;
  const discard = () => {
    setAdded([]);
    setOff([]);
    setChosen(undefined);
  };
  return (
    <Panel title="What carries it">
      <Loads query={tagged}>
        {() => (
          <Stack>
            <To href={`/devices?tag=${encodeURIComponent(tag)}`}>{`${plural(carriers.length, "device")} with this tag`}</To>
            <Columns>
              <DevicePicker label="Add devices" rows={rows.filter((row) => !row.tags.includes(tag))} chosen={added} onChange={setAdded} />
              <DevicePicker label="Take devices off" rows={rows.filter((row) => row.tags.includes(tag))} chosen={off} onChange={setOff} />
            </Columns>
            <MultiSelect
              size="xs"
              label={plural((chosen ?? templates).length, "template")}
              placeholder="Add a template"
              searchable
              limit={50}
              data={(all.data ?? []).map((one) => ({
                value: String(one.id),
                label: one.label.slice(0, 100) || `Template ${one.id}`,
              }))}
              value={chosen ?? templates}
              onChange={setChosen}
            />
            {changes === 0 ? (
              <Nothing title="As it is">Add or take off a device or template: the effect shows here before you save.</Nothing>
            ) : (
              <Planned
                body={body}
                onDiscard={discard}
                onDone={() => {
                  discard();
                  void client.invalidateQueries();
                }}
              />
            )}
            <Linked templates={tagged.data ?? []} />
          </Stack>
        )}
      </Loads>
    </Panel>
  );
}

function DevicePicker({
  label,
  rows,
  chosen,
  onChange,
}: {
  label: string;
  rows: InventoryDevice[];
  chosen: string[];
  onChange: (chosen: string[]) => void;
}) {
  return (
    <MultiSelect
      size="xs"
      label={label}
      placeholder="Search by label"
      searchable
      limit={50}
      data={rows.map((row) => ({ value: row.deviceID, label: row.label.slice(0, 100) || shortID(row.deviceID) }))}
      value={chosen}
      onChange={onChange}
    />
  );
}

function Linked({ templates }: { templates: Schemas["Template"][] }) {
  if (templates.length === 0) return <Muted>No template has this tag.</Muted>;
  return (
    <Rows dense>
      {templates.map((one) => (
        <li key={one.id}>
          <To href={`/templates/${one.id}`}>{one.label.slice(0, 200) || `Template ${one.id}`}</To>
          <Faint>
            {one.op} at {one.key || "everything"}, priority {one.priority}
          </Faint>
        </li>
      ))}
    </Rows>
  );
}

function useStore(tag: string) {
  const client = useQueryClient();
  const isAdmin = useMay("admin");
  return async (body: Schemas["PutTagSettings"], former: Schemas["PutTagSettings"]) => {
    const put = async (to: Schemas["PutTagSettings"]) => {
      const now = await ask(api.PUT("/api/v1/tags/{tag}/settings", { params: { path: { tag } }, body: to }));
      void client.invalidateQueries();
      return now;
    };
    try {
      const stored = await put(body);
      if (stored.warning) warn(stored.warning);
      else if (isAdmin || body.mode === undefined) done("Saved").undo(() => put(former));
      else done("Saved"); // Only an administrator has Muster write again.
    } catch (error) {
      failed(error);
    }
  };
}

function Mode({ tag, settings }: { tag: string; settings: Schemas["TagSettings"] }) {
  const isAdmin = useMay("admin");
  const isOperator = useMay("operator");
  const store = useStore(tag);
  return (
    <Stack>
      <Select
        label="Mode of all devices with this tag"
        description={isAdmin ? undefined : "An operator may stop; only an administrator has Muster write again"}
        data={modeChoices(isAdmin, isOperator)}
        value={settings.mode}
        onChange={(mode) => void store({ mode: mode as "on" | "observe" | "paused" }, { mode: settings.mode })}
        allowDeselect={false}
      />
      <Faint>The strictest of server, fleet, tags and device holds.</Faint>
    </Stack>
  );
}

function Quiet({ tag, seconds }: { tag: string; seconds: number }) {
  const store = useStore(tag);
  return (
    <QuietAfter
      seconds={seconds}
      usual="as usual for the server"
      store={(quietAfter) => store({ quietAfter }, { quietAfter: seconds })}
    />
  );
}

function Roots({ tag, roots }: { tag: string; roots: string[] }) {
  const client = useQueryClient();
  return (
    <FolderRoots
      roots={roots}
      keep={`folder-roots/tag/${tag}`}
      about="Templates of authors put folders below these without consent, on devices with this tag"
      store={async (folderRoots, title) => {
        await ask(titled(title).PUT("/api/v1/tags/{tag}/settings", { params: { path: { tag } }, body: { folderRoots } }));
        void client.invalidateQueries();
      }}
    />
  );
}

function Protection({ tag, isProtected }: { tag: string; isProtected: boolean }) {
  const isAdmin = useMay("admin");
  const client = useQueryClient();
  const store = async (to: boolean) => {
    await ask(api.PUT("/api/v1/tags/{tag}/protection", { params: { path: { tag } }, body: { protected: to } }));
    void client.invalidateQueries({ queryKey: ["tags"] });
  };
  const put = async (to: boolean) => {
    try {
      await store(to);
      done(to ? "The tag is protected" : "The tag is not protected any more").undo(() => store(!to));
    } catch (error) {
      failed(error);
    }
  };
  return (
    <Columns>
      <Stack>
        <Switch
          size="xs"
          label="Only an administrator puts this tag on a device or takes it off"
          disabled={!isAdmin}
          checked={isProtected}
          onChange={(event) => void put(event.currentTarget.checked)}
        />
        {isProtected && <Note>Operators and authors cannot change who carries this tag.</Note>}
        {!isAdmin && <Faint>Only an administrator changes this.</Faint>}
      </Stack>
    </Columns>
  );
}
