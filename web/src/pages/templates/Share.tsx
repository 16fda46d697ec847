import { NumberInput, SegmentedControl, Select, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { useFormDraft } from "../../ui/formdraft";
import { Columns, Panel, Stack } from "../../ui/layout";
import { FormFrame } from "./FormFrame";
import {
  emptyShare,
  filled,
  missing,
  numberOf,
  systemsOf,
  textOf,
  versioningKinds,
  versioningOf,
  withNumber,
  wrongAt,
  type Share,
} from "./shareform";

/** ShareFolder is a folder that devices share, as a form. It writes a template; stored is the one that it changes. */
export default function ShareFolder({
  stored,
  onText,
}: {
  stored?: { id: number; label: string; share: Share };
  onText?: () => void;
}) {
  const [chosen, setHub] = useState<boolean>(); // undefined: as the form has it
  const draft = useFormDraft(stored?.share, emptyShare, textOf, {
    keep: `share/${stored?.id ?? "new"}`,
    onShow: () => setHub(undefined),
  });
  const hub = chosen ?? (draft.draft.hubs ?? []).length > 0;
  const late = hub ? draft.late : { ...draft.late, hubs: [] };
  return (
    <FormFrame
      title="Share a folder"
      says="A form that writes a template"
      stored={stored}
      onText={onText}
      draft={draft}
      form={{ share: filled(late) }}
      lacks={missing(late, hub)}
    >
      {(problem, readOnly) => (
        <Fields
          draft={draft.draft}
          onChange={draft.setDraft}
          hub={hub}
          onHub={setHub}
          problem={problem}
          readOnly={readOnly}
          isNew={!stored}
        />
      )}
    </FormFrame>
  );
}

const roles = [
  { field: "sendReceive", name: "Send and receive", says: "Devices with one of these tags" },
  { field: "sendOnly", name: "Send only", says: "What others change does not come to them" },
  { field: "receiveOnly", name: "Receive only", says: "What is changed there goes to nobody" },
  { field: "encrypted", name: "Encrypted", says: "They keep the files and cannot read them" },
] as const;

function Fields({
  draft,
  onChange,
  hub,
  onHub,
  problem,
  readOnly,
  isNew,
}: {
  draft: Share;
  onChange: (share: Share) => void;
  hub: boolean;
  onHub: (hub: boolean) => void;
  problem: Problem | undefined;
  readOnly: boolean;
  isNew: boolean;
}) {
  const tags = useQuery(queries.tags());
  const secrets = useQuery({ ...queries.secrets(), enabled: !readOnly });
  const set = (part: Partial<Share>) => onChange({ ...draft, ...part });
  const path = (system: string) => ({
    size: "xs",
    readOnly,
    value: draft.paths[system] ?? "",
    onChange: (event: { currentTarget: { value: string } }) =>
      set({ paths: { ...draft.paths, [system]: event.currentTarget.value } }),
  });
  const versions = numberOf(draft.versioning);
  const secret = draft.secret ?? "";
  const names = (secrets.data ?? []).map(({ name }) => name);
  return (
    <Stack>
      <Panel title="The folder">
        <Stack>
          <Columns>
            <TextInput
              size="xs"
              label="Name"
              readOnly={readOnly}
              value={draft.label}
              error={wrongAt(problem, "label")}
              onChange={(event) => set({ label: event.currentTarget.value })}
            />
            <TextInput
              size="xs"
              label="Folder ID"
              placeholder="Made from the name"
              readOnly={readOnly || !isNew}
              value={draft.folder ?? ""}
              error={wrongAt(problem, "folder")}
              onChange={(event) => set({ folder: event.currentTarget.value })}
            />
          </Columns>
          <TextInput
            {...path("")}
            label="Where"
            description="{name} is replaced by the var of that name, as in ~/{department}/Team"
            placeholder="~/Team"
            error={wrongAt(problem, "paths")}
          />
          <Columns>
            {systemsOf(draft.paths).map(({ system, name, example }) => (
              <TextInput
                key={system}
                {...path(system)}
                label={name}
                placeholder={["As above", example].filter(Boolean).join(", or ")}
              />
            ))}
          </Columns>
        </Stack>
      </Panel>
      <Panel title="Who has it">
        <Stack>
          <Columns>
            {roles.map(({ field, name, says }) => (
              <TagsInput
                key={field}
                size="xs"
                label={name}
                description={says}
                data={tags.data ?? []}
                readOnly={readOnly}
                value={draft[field] ?? []}
                error={wrongAt(problem, field)}
                onChange={(chosen) => set({ [field]: chosen })}
                maxLength={128}
              />
            ))}
          </Columns>
          {(draft.encrypted ?? []).length > 0 && (
            <Select
              size="xs"
              label="Secret with the password"
              description="Store one with `muster secret put NAME`. Without the password what the encrypted devices keep is of no use"
              data={secret === "" || names.includes(secret) ? names : [...names, secret]}
              readOnly={readOnly}
              value={secret === "" ? null : secret}
              error={wrongAt(problem, "secret")}
              onChange={(name) => set({ secret: name ?? "" })}
              searchable
            />
          )}
          <SegmentedControl
            size="xs"
            aria-label="Who shares with whom"
            readOnly={readOnly}
            data={[
              { value: "all", label: "Everyone with everyone" },
              { value: "hub", label: "Hub and spoke" },
            ]}
            value={hub ? "hub" : "all"}
            onChange={(value) => {
              onHub(value === "hub");
              if (value !== "hub") set({ hubs: [] });
            }}
          />
          {hub && (
            <TagsInput
              size="xs"
              label="Hubs"
              description="Devices with one of these tags share with all, the others only with those"
              data={tags.data ?? []}
              readOnly={readOnly}
              value={draft.hubs ?? []}
              onChange={(hubs) => {
                onHub(true); // also while it has none
                set({ hubs });
              }}
              maxLength={128}
            />
          )}
        </Stack>
      </Panel>
      <Panel title="What is kept, and left out">
        <Stack>
          <Columns>
            <Select
              size="xs"
              label="Earlier versions"
              data={versioningKinds.map(({ value, label }) => ({ value, label }))}
              readOnly={readOnly}
              allowDeselect={false}
              value={draft.versioning?.type ?? ""}
              onChange={(type) => set({ versioning: versioningOf(type ?? "") })}
            />
            {versions && (
              <NumberInput
                size="xs"
                label={versions.unit}
                min={0}
                max={3650}
                allowDecimal={false}
                readOnly={readOnly}
                value={versions.value}
                onChange={(value) => set({ versioning: withNumber(draft.versioning, Number(value) || 0) })}
              />
            )}
            <NumberInput
              size="xs"
              label="Keep free on the disk"
              placeholder="As each device has it"
              suffix=" %"
              min={0}
              max={99}
              allowDecimal={false}
              readOnly={readOnly}
              value={draft.keepFreePercent || ""}
              onChange={(value) => set({ keepFreePercent: Number(value) || 0 })}
            />
          </Columns>
          <Textarea
            size="xs"
            label="Ignore patterns, one on each line"
            description="They replace those of the devices. Without any, each device keeps its own"
            placeholder={"(?d).DS_Store\n*.tmp"}
            autosize
            minRows={2}
            readOnly={readOnly}
            value={(draft.ignores ?? []).join("\n")}
            error={wrongAt(problem, "ignores")}
            onChange={(event) => set({ ignores: event.currentTarget.value === "" ? [] : event.currentTarget.value.split("\n") })}
          />
        </Stack>
      </Panel>
    </Stack>
  );
}
