import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** SearchField is the search of a page: the key / goes to it, Escape empties it. Further filters are its children. */
export function SearchField({
  label,
  hint = label,
  value,
  onChange,
  children,
}: {
  label: string;
  hint?: string; // what is searched
  value: string;
  onChange: (text: string) => void;
  children?: ReactNode;
}) {
  return (
    <div className="u-toolbar" role="search">
      <TextInput
        data-search
        placeholder={label}
        title={hint}
        aria-label={label}
        leftSection={<IconSearch size={14} aria-hidden />}
        rightSection={<kbd className="u-kbd">/</kbd>}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onChange("");
        }}
      />
      {children}
    </div>
  );
}

/** Switch is a filter that is on or off. */
export function Switch({ on, flip, children }: { on: boolean; flip: () => void; children: string }) {
  return (
    <button type="button" className="u-chip" aria-pressed={on} onClick={flip}>
      <span>{children}</span>
    </button>
  );
}
