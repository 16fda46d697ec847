import { Autocomplete, NumberInput, Select, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Problem } from "../../api/problem";
import { queries } from "../../api/queries";
import { Stack } from "../../ui/layout";
import { applies, settingAt, type Field, type Kind, type Setting, type Values } from "./filledform";

/** FormFields are the fields of a form as the server describes them. */
export function FormFields({
  kind,
  fields,
  onChange,
  problem,
  readOnly,
}: {
  kind: Kind;
  fields: Values;
  onChange: (name: string, values: string[]) => void;
  problem: Problem | undefined;
  readOnly: boolean;
}) {
  const has = (type: Field["type"]) => kind.fields.some((field) => field.type === type);
  const tags = useQuery(queries.tags());
  const folders = useQuery({ ...queries.folders(), enabled: has("folder") });
  const secrets = useQuery({ ...queries.secrets(), enabled: has("secret") && !readOnly });
  const settings = useQuery({ ...queries.configSettings(), enabled: has("key") });
  const known: Known = {
    tags: tags.data ?? [],
    folders: (folders.data ?? []).map(({ folder }) => folder),
    secrets: (secrets.data ?? []).map(({ name }) => name),
    settings: settings.data ?? [],
    setting: settingAt(settings.data ?? [], fields.key?.[0] ?? ""),
  };
  return (
    <Stack>
      {kind.fields.filter((field) => applies(field, fields)).map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          values={fields[field.name] ?? []}
          onChange={(values) => onChange(field.name, values)}
          error={problem?.errors.find((one) => one.field === `form.${field.name}`)?.message}
          readOnly={readOnly}
          known={known}
        />
      ))}
    </Stack>
  );
}

interface Known {
  tags: string[];
  folders: string[];
  secrets: string[];
  settings: Setting[];
  setting: Setting | undefined; // the one that the form is about
}

interface Input {
  field: Field;
  values: string[];
  onChange: (values: string[]) => void;
  error: string | undefined;
  readOnly: boolean;
  known: Known;
}

const unchosen = "As each device has it";

function FieldInput(input: Input) {
  const { field, values, onChange, error, readOnly, known } = input;
  const value = values[0] ?? "";
  const common = {
    size: "xs",
    label: field.label,
    description: field.help,
    placeholder: field.example ?? "",
    error,
    readOnly,
  };
  switch (field.type) {
    case "tags":
      return <TagsInput {...common} data={known.tags} value={values} onChange={onChange} maxLength={128} />;
    case "choice":
      return (
        <Select
          {...common}
          placeholder={unchosen}
          data={field.choices ?? []}
          allowDeselect={!field.required}
          clearable={!field.required && !readOnly}
          value={value || null}
          onChange={(chosen) => onChange(chosen ? [chosen] : [])}
        />
      );
    case "number":
      return (
        <NumberInput
          {...common}
          min={field.least}
          max={field.most}
          allowDecimal={false}
          value={value}
          onChange={(typed) => onChange([String(typed)])}
        />
      );
    case "secret":
      return (
        <Select
          {...common}
          data={value === "" || known.secrets.includes(value) ? known.secrets : [...known.secrets, value]}
          searchable
          value={value || null}
          onChange={(name) => onChange(name ? [name] : [])}
        />
      );
    case "folder":
      return <Autocomplete {...common} data={known.folders} limit={20} value={value} onChange={(id) => onChange([id])} />;
    case "key":
      return <KeyInput {...input} />;
    case "value":
      return <ValueInput {...input} />;
    case "lines":
      return <Lines {...input} />;
    default:
      return <TextInput {...common} value={value} onChange={(event) => onChange([event.currentTarget.value])} />;
  }
}

function Lines({ field, values, onChange, error, readOnly }: Input) {
  return (
    <Textarea
      size="xs"
      label={field.label}
      description={field.help}
      placeholder={field.example ?? ""}
      error={error}
      readOnly={readOnly}
      autosize
      minRows={3}
      value={values.join("\n")}
      onChange={(event) => onChange(event.currentTarget.value.split("\n"))}
    />
  );
}

/** KeyInput proposes the settings of Syncthing, and explains the one that was chosen. */
function KeyInput({ field, values, onChange, error, readOnly, known }: Input) {
  const { setting } = known;
  return (
    <Autocomplete
      size="xs"
      label={field.label}
      description={setting ? `${setting.help} Default: ${setting.default.join(", ") || "blank"}.` : field.help}
      placeholder={field.example ?? ""}
      error={error}
      readOnly={readOnly}
      data={known.settings.map(({ key }) => key)}
      limit={30}
      value={values[0] ?? ""}
      onChange={(key) => onChange([key])}
    />
  );
}

/** ValueInput takes what the chosen setting takes. */
function ValueInput(input: Input) {
  const { field, values, onChange, error, readOnly, known } = input;
  const { setting } = known;
  if (setting?.type === "texts") return <Lines {...input} field={{ ...field, label: `${field.label}, one on each line` }} />;
  const choices = setting?.type === "flag" ? ["true", "false"] : (setting?.choices ?? []).filter((one) => one !== "");
  const value = values[0] ?? "";
  if (choices.length > 0) {
    return (
      <Select
        size="xs"
        label={field.label}
        data={choices}
        error={error}
        readOnly={readOnly}
        allowDeselect={false}
        value={choices.includes(value) ? value : null}
        onChange={(chosen) => onChange(chosen ? [chosen] : [])}
      />
    );
  }
  return (
    <TextInput
      size="xs"
      label={field.label}
      description={field.help}
      placeholder={setting?.default.join(", ") ?? ""}
      error={error}
      readOnly={readOnly}
      value={value}
      onChange={(event) => onChange([event.currentTarget.value])}
    />
  );
}
