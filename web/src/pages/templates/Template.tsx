import { Autocomplete, Button, NumberInput, Select, Tabs, TagsInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { ask, titled } from "../../api/client";
import { inventory } from "../../api/inventory";
import { Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { useMe } from "../../session/me";
import { includes } from "../../session/roles";
import { Act, warn } from "../../ui/act";
import { KeptNote } from "../../ui/draftnotes";
import { plural } from "../../ui/format";
import { Columns, Panel, Split, Stack } from "../../ui/layout";
import { Ghosts, Note, Nothing, Page, Wrong } from "../../ui/page";
import { Ago, Muted, To } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { useKeeps, useKeptBefore } from "../../ui/usekept";
import { doneIn } from "../rollouts/doneIn";
import { AllowFailing } from "../whatif/AllowFailing";
import { Effect } from "../whatif/Effect";
import { usePlan, whyRefused } from "../whatif/planning";
import { completions, fieldsAt, keysOf } from "./complete";
import { changesOf, draftOf, draftToShow, emptyDraft, isSame, mistakesOf, textOf, withText, type Draft } from "./draft";
import { Delete } from "./Delete";
import { History } from "./History";
import { OneDevice } from "./OneDevice";
import { valuesIn } from "./filledform";
import FormPage from "./FormPage";
import ShareFolder from "./Share";
import { StartFrom } from "./StartFrom";

const Editor = lazy(() => import("../../ui/Editor"));

interface Stored {
  id: number;
  draft: Draft;
  updatedAt: string;
}

/** Template is one template: the form that wrote it, or its text, the value on a device that one picks, and the plan of the fleet beside it. */
export default function Template({ id }: { id: string }) {
  if (id === "new") return <Edit stored={undefined} />;
  return <Existing id={Number(id)} />;
}

/** Existing shows a template as the form that wrote it, or as text. */
function Existing({ id }: { id: number }) {
  const [asText, setAsText] = useState(false);
  const form = useQuery(queries.templateForm(id));
  const template = useQuery(queries.template(id));
  const tags = useQuery(queries.templateTags(id));
  const data =
    template.data && tags.data
      ? { id, draft: draftOf(template.data.data, tags.data), updatedAt: template.data.data.updatedAt }
      : undefined;
  const share = form.data?.form?.share;
  const filled = form.data?.form?.filled;
  if (data && share && !asText) {
    return (
      <ShareFolder stored={{ id, label: data.draft.label, share }} onText={() => setAsText(true)} />
    );
  }
  if (data && filled && !asText) {
    const stored = { id, label: data.draft.label, fields: valuesIn(filled) };
    return <FormPage name={filled.name} stored={stored} onText={() => setAsText(true)} />;
  }
  if (data && form.data) return <Edit stored={data} readAt={template.dataUpdatedAt} edited={form.data.edited} />;
  const failure = [template, tags, form].find((one) => one.error);
  return (
    <Page title={`Template ${id}`} crumb={{ href: "/templates", text: "Templates" }}>
      {failure ? <Wrong error={failure.error} retry={() => void failure.refetch()} /> : <Ghosts />}
    </Page>
  );
}

function Edit({ stored, readAt, edited }: { stored: Stored | undefined; readAt?: number; edited?: boolean }) {
  const me = useMe();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const mayWrite = includes(me.role, "author");
  const mayPlan = includes(me.role, "operator");
  const [base, setBase] = useState(stored); // what the draft began with
  const [handed] = useState(() => (stored ? undefined : handedOver()));
  const name = `template/${stored?.id ?? "new"}`;
  const kept = useKeptBefore(name, handed ?? base?.draft ?? emptyDraft, textOf);
  const [draft, setDraft] = useState<Draft>(() => draftToShow(base?.draft ?? emptyDraft, handed, kept));
  const [restoredAt, setRestoredAt] = useState(kept && draft === kept.draft ? (kept.at ?? 0) : undefined);
  const [typed] = useDebouncedValue(draft, 500);
  const late = useMemo(() => withText(typed), [typed]);
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const dirty = !isSame(draft, base?.draft ?? emptyDraft);
  const [keptIsOlder] = useState(stored !== undefined && kept?.isOlder === true);
  const changedMeanwhile = stored !== undefined && base !== undefined && !isSame(stored.draft, base.draft);
  const { forget } = useKeeps(name, dirty, textOf(handed ?? base?.draft ?? emptyDraft), draft);
  const discard = () => {
    setDraft(base?.draft ?? emptyDraft);
    setRestoredAt(undefined);
  };

  const changes = changesOf(late, base);
  const hasText = late.template.trim() !== "";
  const planning = usePlan(changes, mayPlan && hasText && Object.keys(changes).length > 0);
  const { plan, refusal, isRefused, allowed: allowFailing } = planning;
  const [title, setTitle] = useState("");
  const settled = typed === draft && !plan.isFetching;
  const problem = plan.error instanceof Problem && Object.keys(changes).length > 0 ? plan.error : undefined;
  const mistakes = useMemo(() => mistakesOf(problem), [problem]);
  const known = useKnown(draft.key);

  const save = async () => {
    const sent = withText(draft);
    const applied = await ask(
      titled(title).POST("/api/v1/changes", {
        body: { ...changesOf(sent, base), allowFailing, ...(plan.data ? { generation: plan.data.generation } : {}) },
      }),
    );
    const id = base?.id ?? applied.newTemplates[0];
    setDraft((now) => (now === draft ? sent : now)); // What was typed meanwhile stays.
    setBase(id === undefined ? undefined : { id, draft: sent, updatedAt: new Date().toISOString() });
    forget();
    setRestoredAt(undefined);
    // At once: a person who goes on to another page meanwhile is not brought back.
    if (base === undefined && id !== undefined) navigate(`/templates/${id}`, { replace: true });
    void client.invalidateQueries();
    for (const warning of applied.warnings) warn(warning);
    setTitle("");
    const back = id !== undefined && (base ? changesOf(base.draft, { id, draft: sent }) : { templates: { deleted: [id] } });
    const message = `Saved. ${plural(plan.data?.touched.devices ?? 0, "device changes", "devices change")}`;
    void doneIn(message, applied.generation, back || undefined);
  };

  return (
    <Page
      wide
      title={base ? draft.label || `Template ${base.id}` : "New template"}
      crumb={{ href: "/templates", text: "Templates" }}
      {...(readAt === undefined ? {} : { updatedAt: readAt })}
      sub={base && <Saver id={base.id} updatedAt={base.updatedAt} />}
      actions={
        <>
          {base && <Delete id={base.id} label={draft.label} />}
          {dirty && (
            <Button variant="default" onClick={discard}>
              Discard
            </Button>
          )}
          <Act
            needs="author"
            variant="filled"
            disabled={!dirty || !settled || problem !== undefined || !hasText}
            why={whyNot(dirty, hasText, settled, problem, isRefused)}
            run={save}
          >
            {saveWords(base !== undefined, plan.data?.touched.devices)}
          </Act>
        </>
      }
    >
      {changedMeanwhile && (
        <Note>
          Somebody else has changed this template since you opened it.{" "}
          <button
            type="button"
            className="u-link"
            onClick={() => {
              setBase(stored);
              if (!dirty) setDraft(stored.draft);
            }}
          >
            Compare with theirs
          </button>{" "}
          Your text stays.
        </Note>
      )}
      {restoredAt !== undefined && dirty && (
        <KeptNote at={restoredAt} onContinue={() => setRestoredAt(undefined)} onDiscard={discard} />
      )}
      {restoredAt !== undefined && dirty && keptIsOlder && (
        <Note>Somebody else has changed this template since you wrote the draft. What you save replaces that.</Note>
      )}
      {dirty && mayWrite && <TitleField value={title} onChange={setTitle} />}
      {edited && <Note>A form wrote this template, and it was edited by hand since: it is shown as text.</Note>}
      <Split>
        <Stack>
          <Panel>
            <Stack>
              {!base && mayWrite && <StartFrom tags={known.tags} draft={draft} onStart={set} />}
              <TextInput
                label="Label"
                readOnly={!mayWrite}
                value={draft.label}
                onChange={(event) => set({ label: event.currentTarget.value })}
              />
              <Columns>
                <Select
                  label="Op"
                  description="What to do at the key"
                  data={["set", "merge", "append", "remove"]}
                  value={draft.op}
                  readOnly={!mayWrite}
                  allowDeselect={false}
                  onChange={(op) => set({ op: op ?? "merge" })}
                />
                <Autocomplete
                  size="xs"
                  label="Key"
                  description="Where, as in options.natEnabled"
                  data={known.keys}
                  limit={20}
                  value={draft.key}
                  readOnly={!mayWrite}
                  onChange={(key) => set({ key })}
                />
                <NumberInput
                  size="xs"
                  label="Priority"
                  description="The larger has the last word"
                  allowDecimal={false}
                  value={draft.priority}
                  readOnly={!mayWrite}
                  onChange={(value) => set({ priority: Number(value) || 0 })}
                />
              </Columns>
              <Suspense fallback={<Ghosts rows={8} />}>
                <Editor
                  value={draft.template}
                  onChange={(template) => setDraft((before) => ({ ...before, template }))}
                  mistakes={mistakes}
                  readOnly={!mayWrite}
                  complete={known.complete}
                />
              </Suspense>
              <TagsInput
                size="xs"
                label="Tags"
                description="It applies to every device with one of them"
                data={known.tags}
                value={draft.tags}
                readOnly={!mayWrite}
                onChange={(tags) => set({ tags })}
                maxLength={128}
              />
            </Stack>
          </Panel>
        </Stack>
        <Panel flush>
          <Tabs defaultValue="fleet" keepMounted={false}>
            <Tabs.List>
              <Tabs.Tab value="fleet">The whole fleet</Tabs.Tab>
              <Tabs.Tab value="device">One device</Tabs.Tab>
              {base && <Tabs.Tab value="history">History</Tabs.Tab>}
            </Tabs.List>
            <Tabs.Panel value="fleet" p="md" aria-live="polite">
              {!mayPlan ? (
                <Muted>To see what a change would do needs the role operator or higher.</Muted>
              ) : problem && !isRefused ? (
                <Wrong error={problem} />
              ) : !hasText ? (
                <Nothing title="Nothing to plan yet">Write a text: what it does to every device shows here.</Nothing>
              ) : !dirty ? (
                <Nothing title="As it is saved" actions={<Reach tags={draft.tags} />}>
                  Change something: what that does to every device shows here, before you save.
                </Nothing>
              ) : settled && (plan.data || refusal) ? (
                <Stack>
                  <AllowFailing planning={planning} />
                  {plan.data && <Effect plan={plan.data} idle={late.tags.length === 0 ? noTag : undefined} />}
                </Stack>
              ) : (
                <Ghosts />
              )}
            </Tabs.Panel>
            <Tabs.Panel value="device" p="md">
              <OneDevice draft={late} id={base?.id} dirty={dirty} />
            </Tabs.Panel>
            {base && (
              <Tabs.Panel value="history" p="md">
                <History id={base.id} draft={late} mayWrite={mayWrite} onRestore={set} />
              </Tabs.Panel>
            )}
          </Tabs>
        </Panel>
      </Split>
    </Page>
  );
}

/** handedOver is the draft with which another page opened the editor. */
function handedOver(): Draft | undefined {
  return (window.history.state as { draft?: Draft } | null)?.draft;
}

const noTag = "It has no tag yet. A template applies to the devices that have one of its tags.";

/** Reach leads to the devices that a template is for, and to what goes out. */
function Reach({ tags }: { tags: string[] }) {
  if (tags.length === 0) return <Muted>{noTag}</Muted>;
  return (
    <>
      {tags.slice(0, 5).map((tag) => (
        <To key={tag} href={`/devices?tag=${encodeURIComponent(tag)}`}>{`Devices tagged ${tag.slice(0, 60)}`}</To>
      ))}
      <To href="/rollouts">Rollouts</To>
    </>
  );
}

function saveWords(exists: boolean, devices: number | undefined): string {
  const verb = exists ? "Save" : "Create";
  return devices ? `${verb} for ${plural(devices, "device")}` : verb;
}

function whyNot(
  dirty: boolean,
  hasText: boolean,
  settled: boolean,
  problem: Problem | undefined,
  isRefused: boolean,
): string {
  if (!dirty) return "Nothing was changed.";
  if (!hasText) return "The text is empty.";
  if (isRefused) return whyRefused;
  if (problem) return "Mend the mistakes first.";
  return settled ? "" : "The plan is being made.";
}

function Saver({ id, updatedAt }: { id: number; updatedAt: string }) {
  const saver = useQuery(queries.templateSaver(id));
  return (
    <span>
      Changed <Ago at={updatedAt} />
      {saver.data?.name && ` · text by ${saver.data.name}${saver.data.role && ` (${saver.data.role})`}`}
    </span>
  );
}

/** useKnown is what can be proposed: keys of a device's configuration, tags, and secrets for those who may know them. */
function useKnown(key: string) {
  const fleet = useQuery(inventory());
  const example = fleet.data?.devices.find((device) => device.connection === "online")?.deviceID;
  const config = useQuery({ ...queries.config(example ?? ""), enabled: example !== undefined });
  const tags = useQuery(queries.tags());
  const me = useMe();
  const secrets = useQuery({ ...queries.secrets(), enabled: includes(me.role, "author") });
  const keys = useMemo(() => keysOf(config.data), [config.data]);
  return {
    keys,
    tags: tags.data ?? [],
    complete: completions({
      fields: fieldsAt(keys, key),
      tags: tags.data ?? [],
      secrets: (secrets.data ?? []).map((secret) => secret.name),
    }),
  };
}
