import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import { useFormDraft } from "../../ui/formdraft";
import { Panel, Stack } from "../../ui/layout";
import { Ghosts, Nothing, Page, Wrong } from "../../ui/page";
import { To } from "../../ui/text";
import { begun, filled, missing, type Entered, type Kind, type Values } from "./filledform";
import { FormFields } from "./FormFields";
import { FormFrame } from "./FormFrame";

interface Stored {
  id: number;
  label: string;
  fields: Values;
}

/** FormPage is any form that the server describes; stored is the template that it changes. */
export default function FormPage({ name, stored, onText }: { name: string; stored?: Stored; onText?: () => void }) {
  const forms = useQuery(queries.forms());
  const kind = forms.data?.find((one) => one.name === name);
  if (kind) return <Filling key={`${kind.name} ${stored?.id ?? ""}`} kind={kind} stored={stored} onText={onText} />;
  return (
    <Page title="Form" crumb={{ href: "/templates/forms", text: "What do you want?" }}>
      {forms.error ? (
        <Wrong error={forms.error} retry={() => void forms.refetch()} />
      ) : forms.data ? (
        <Nothing title="There is no such form">
          <To href="/templates/forms">Show all forms</To>
        </Nothing>
      ) : (
        <Ghosts />
      )}
    </Page>
  );
}

function Filling({ kind, stored, onText }: { kind: Kind; stored: Stored | undefined; onText: (() => void) | undefined }) {
  const text = (entered: Entered) => JSON.stringify(filled(kind, entered));
  const draft = useFormDraft(stored && begun(kind, stored.label, stored.fields), begun(kind), text, {
    keep: `${kind.name}/${stored?.id ?? "new"}`,
  });
  const { label, fields } = filled(kind, draft.late);
  const set = (name: string, values: string[]) =>
    draft.setDraft({ ...draft.draft, fields: { ...draft.draft.fields, [name]: values } });
  return (
    <FormFrame
      title={kind.title}
      says={kind.help}
      stored={stored}
      onText={onText}
      draft={draft}
      form={{ filled: { name: kind.name, fields } }}
      label={label}
      lacks={missing(kind, draft.late)}
    >
      {(problem, readOnly) => (
        <Panel title="What you want">
          <Stack>
            <FormFields kind={kind} fields={draft.draft.fields} onChange={set} problem={problem} readOnly={readOnly} />
            <TextInput
              size="xs"
              label="Label of the template"
              placeholder="Made from what you fill in"
              readOnly={readOnly}
              value={draft.draft.label}
              onChange={(event) => draft.setDraft({ ...draft.draft, label: event.currentTarget.value })}
            />
          </Stack>
        </Panel>
      )}
    </FormFrame>
  );
}
