import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import type { Schemas } from "../../api/client";
import { asProblem, type Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { DraftNotes } from "../../ui/draftnotes";
import { sentence } from "../../ui/format";
import type { FormDraft } from "../../ui/formdraft";
import { Panel, Split, Stack } from "../../ui/layout";
import { Ghosts, Note, Nothing, Page, Wrong } from "../../ui/page";
import { Code, Muted } from "../../ui/text";
import { Planned } from "../whatif/Planned";
import { Delete } from "./Delete";
import { emptyDraft } from "./draft";

/** FormFrame is the page of a form: its fields, and beside them the plan of the template that it writes. */
export function FormFrame<T>({
  title,
  says,
  stored,
  onText,
  draft,
  form,
  label,
  lacks,
  children,
}: {
  title: string;
  says: string;
  stored: { id: number; label: string } | undefined;
  onText: (() => void) | undefined;
  draft: FormDraft<T>;
  form: Schemas["Form"]; // of draft.late
  label?: string;
  lacks: string; // what has to be filled in first
  children: (problem: Problem | undefined, readOnly: boolean) => ReactNode;
}) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const mayWrite = useMay("author");
  const { dirty } = draft;
  const written = useQuery({
    ...queries.writtenForm({ form, ...(stored ? { template: stored.id } : {}), ...(label ? { label } : {}) }),
    enabled: mayWrite && lacks === "" && dirty,
  });
  const problem = dirty && written.error ? asProblem(written.error) : undefined;
  const settled = draft.late === draft.draft && !written.isFetching;

  return (
    <Page
      wide
      title={stored ? stored.label || title : title}
      crumb={{ href: "/templates", text: "Templates" }}
      sub={<span>{stored ? `${title}: a form that writes a template` : says}</span>}
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
      <DraftNotes form={draft} what="this template" />
      <Split>
        {children(problem, !mayWrite)}
        <Panel title="What it does">
          {!mayWrite ? (
            <Muted>To fill in a form needs the role author or higher.</Muted>
          ) : !dirty ? (
            <Nothing title={stored ? "As it is saved" : "Nothing to plan yet"}>
              {stored ? "Change something" : "Fill in the form"}: what that does to every device shows here, before you save.
            </Nothing>
          ) : lacks !== "" ? (
            <Nothing title={lacks}>What it does to every device shows here then.</Nothing>
          ) : problem ? (
            <Failed problem={problem} retry={() => void written.refetch()} />
          ) : written.data && settled ? (
            <Stack>
              {written.data.warnings.map((warning) => (
                <Note key={warning}>{sentence(warning)}</Note>
              ))}
              <Planned
                body={written.data.change}
                needs="author"
                onDone={([created]) => {
                  draft.saved();
                  if (created !== undefined) navigate(`/templates/${created}`, { replace: true });
                  void client.invalidateQueries();
                }}
                onDiscard={draft.discard}
              />
              <details>
                <summary>The template that it writes</summary>
                <Stack>
                  <Code>{written.data.template}</Code>
                  {!stored && <GoOnAsText written={written.data} />}
                </Stack>
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

/** Failed shows why there is no plan. What is wrong in a field is not asked for again: one changes the field. */
function Failed({ problem, retry }: { problem: Problem; retry: () => void }) {
  const isOfForm = problem.status >= 400 && problem.status < 500;
  return isOfForm ? <Wrong error={problem} /> : <Wrong error={problem} retry={retry} />;
}

/** GoOnAsText opens the editor with the text that the form wrote. */
function GoOnAsText({ written }: { written: Schemas["WrittenForm"] }) {
  const [, navigate] = useLocation();
  const { label, op, key, template, tags } = written;
  return (
    <button
      type="button"
      className="u-link"
      onClick={() => navigate("/templates/new", { state: { draft: { ...emptyDraft, label, op, key, template, tags } } })}
    >
      Go on with this text in the editor
    </button>
  );
}
