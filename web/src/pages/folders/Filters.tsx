import { Autocomplete, MultiSelect } from "@mantine/core";
import { folderStates } from "../../ui/folderwords";

/** StateFilter picks folder states. */
export function StateFilter({
  label,
  placeholder,
  states,
  onChange,
}: {
  label: string;
  placeholder: string;
  states: string[];
  onChange: (states: string[]) => void;
}) {
  return (
    <MultiSelect
      size="xs"
      w={240}
      aria-label={label}
      placeholder={states.length === 0 ? placeholder : undefined}
      data={Object.entries(folderStates).map(([value, { word }]) => ({ value, label: word }))}
      value={states}
      onChange={onChange}
      clearable
    />
  );
}

/** TagFilter picks a tag, as one types it. */
export function TagFilter({ tags, tag, onChange }: { tags: string[]; tag: string; onChange: (tag: string) => void }) {
  return (
    <Autocomplete
      size="xs"
      w={180}
      aria-label="Tag"
      placeholder="All tags"
      data={tags}
      limit={50}
      value={tag}
      onChange={onChange}
    />
  );
}
