import { NumberInput, SegmentedControl, Select, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { sentence } from "../../ui/format";
import { Columns, Panel, Split, Stack } from "../../ui/layout";
import { Ghosts, Note, Nothing, Page, Wrong } from "../../ui/page";
import { Code, Muted } from "../../ui/text";
import { Planned } from "../whatif/Planned";
import { Delete } from "./Delete";
import { emptyShare, filled, missing, numberOf, same, versioningKinds, versioningOf, wrongAt, type Share } from "./shareform";

/** ShareFolder is a folder that devices share, as a form. It writes a template; stored is the one that it changes. */
export default function ShareFolder({
  stored,
  onText,
}: {
  stored?: { id: number; label: string; share: Share };
  onText?: () => void;
}) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const mayWrite = useMay("author");
  const [base, setBase] = useState(stored?.share ?? emptyShare);
  const [draft, setDraft] = useState<Share>(base);
  const [hub, setHub] = useState((base.hubs ?? []).length > 0);
  const [late] = useDebouncedValue(draft, 500);
  const dirty = !same(draft, base);
  const lacks = missing(hub ? late : { ...late, hubs: [] }, hub);
  const written = useQuery({
    ...queries.writtenForm({
      form: { share: filled(hub ? late : { ...late, hubs: [] }) },
      ...(stored ? { template: stored.id } : {}),
    }),
    enabled: mayWrite && lacks === "" && dirty,
  });
  const problem = written.error instanceof Problem ? written.error : undefined;
  const settled = late === draft && !written.isFetching;

  const [theirs, setTheirs] = useState<Share>(); // what somebody else stored while this was being filled in
  const now = JSON.stringify(stored ? filled(stored.share) : undefined);
  const [read, setRead] = useState(now);
  if (stored && now !== read) {
    setRead(now);
    if (dirty) setTheirs(stored.share);
    else show(stored.share);
  }
  function show(share: Share) {
    setBase(share);
    setDraft(share);
    setHub((share.hubs ?? []).length > 0);
    setTheirs(undefined);
  }

  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);

  return (
    <Page
      wide
      title={stored ? stored.label || "Folder" : "Share a folder"}
      crumb={{ href: "/templates", text: "Templates" }}
      sub={<span>A form that writes a template</span>}
      actions={
        stored && (
          <>
            <button type="button" className="u-link" onClick={onText}>
              Edit as text
            </button>
            <Delete id={stored.id} label={stored.label} />
          </>
        )
      }
    >
      {theirs && (
        <Note>
          Somebody else has changed this folder since you opened it. What you store replaces that.{" "}
          <button type="button" className="u-link" onClick={() => show(theirs)}>
            Show theirs, and discard yours
          </button>
        </Note>
      )}
      <Split>
        <Fields draft={draft} onChange={setDraft} hub={hub} onHub={setHub} problem={problem} readOnly={!mayWrite} isNew={!stored} />
        <Panel title="What it does">
          {!mayWrite ? (
            <Muted>To share a folder needs the role author or higher.</Muted>
          ) : !dirty ? (
            <Nothing title={stored ? "As it is saved" : "Nothing to plan yet"}>
              {stored ? "Change something: " : "Fill in name, place and who: "}what that does to every device shows here, before
              anything is stored.
            </Nothing>
          ) : lacks !== "" ? (
            <Nothing title={lacks}>What it does to every device shows here then.</Nothing>
          ) : problem ? (
            <Wrong error={problem} />
          ) : written.data && settled ? (
            <Stack>
              {written.data.warnings.map((warning) => (
                <Note key={warning}>{sentence(warning)}</Note>
              ))}
              <Planned
                body={written.data.change}
                needs="author"
                onDone={([created]) => {
                  setBase(draft);
                  if (created !== undefined) navigate(`/templates/${created}`, { replace: true });
                  void client.invalidateQueries();
                }}
                onDiscard={() => show(base)}
              />
              <details>
                <summary>The template that it writes</summary>
                <Code>{written.data.template}</Code>
              </details>
            </Stack>
          ) : (
            <Ghosts />
          )}
        </Panel>
      </Split>
    </Page>
  );
}

const systems = [
  { system: "windows", name: "On Windows", example: "D:\\Team" },
  { system: "darwin", name: "On macOS", example: "~/Documents/Team" },
  { system: "linux", name: "On Linux", example: "/srv/team" },
];

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
            {systems.map(({ system, name, example }) => (
              <TextInput key={system} {...path(system)} label={name} placeholder={`As above, or ${example}`} />
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
              onChange={(hubs) => set({ hubs })}
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
                onChange={(value) => set({ versioning: versioningOf(draft.versioning?.type ?? "", Number(value) || 0) })}
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
