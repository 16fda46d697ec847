import type { Schemas } from "../../api/client";

export type Kind = Schemas["FormKind"];
export type Field = Schemas["FormField"];
export type Setting = Schemas["ConfigSetting"];
export type Values = Record<string, string[]>;

/** Entered is what a person entered: the label of the template, and the fields. */
export interface Entered {
  label: string;
  fields: Values;
}

/** begun is a form in which nothing was changed yet: with the values of a template, and defaults in all other fields. */
export function begun(kind: Kind, label = "", fields: Values = {}): Entered {
  const defaults = kind.fields.flatMap((field): [string, string[]][] => (field.default ? [[field.name, [field.default]]] : []));
  return { label, fields: { ...Object.fromEntries(defaults), ...fields } };
}

/** valuesIn are the fields of a stored form. */
export function valuesIn({ fields }: Schemas["FilledForm"]): Values {
  return { ...fields };
}

const given = (values: string[] | undefined) => (values ?? []).filter((value) => value.trim() !== "");

/** applies tells whether a field counts, given the values of the other fields. */
export function applies({ onlyIf }: Field, fields: Values): boolean {
  return !onlyIf || onlyIf.is.includes(fields[onlyIf.field]?.[0] ?? "");
}

/** filled is what is sent: the fields that apply, without blank values. Then two forms that do the same are equal. */
export function filled(kind: Kind, { label, fields }: Entered): Entered {
  const shown = kind.fields.filter((field) => applies(field, fields) && given(fields[field.name]).length > 0);
  const values = shown.map(({ name, type }): [string, string[]] => {
    const all = given(fields[name]);
    return [name, type === "tags" ? [...all].sort() : all];
  });
  return { label: label.trim(), fields: Object.fromEntries(values) };
}

/** missing is the field that has to be filled in before a plan can be made, in words; "" where nothing is missing. */
export function missing(kind: Kind, { fields }: Entered): string {
  const lacks = kind.fields.find(
    (field) => field.required && applies(field, fields) && given(fields[field.name]).length === 0,
  );
  return lacks ? `Fill in: ${lacks.label}.` : "";
}

const memberOf = /^(folders|devices)\.(?:"(?:[^"\\]|\\.)*"|[^.]+)\.(.+)$/i;

/** settingAt is the setting that a key names, also for one folder or device. */
export function settingAt(settings: Setting[], key: string): Setting | undefined {
  const [, section, rest] = memberOf.exec(key.trim()) ?? [];
  const wanted = (section && rest ? `${section}.*.${rest}` : key.trim()).toLowerCase();
  return settings.find((one) => one.key.toLowerCase() === wanted);
}
