import { TextInput } from "@mantine/core";

const mostTitle = 200; // characters, as the server takes them

/** TitleField asks what a change is for. What a person writes becomes the title of the change. */
export function TitleField({ value, onChange }: { value: string; onChange: (title: string) => void }) {
  return (
    <TextInput
      size="xs"
      label="What for"
      description="Title of the change in rollouts, history and audit; may stay blank"
      maxLength={mostTitle}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
