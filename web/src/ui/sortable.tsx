import { ActionIcon } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconGripVertical } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

/** Sortable is a list whose members are dragged to another place, or moved by buttons. */
export function Sortable<T>({
  label,
  rows,
  id,
  name,
  cell,
  onMove,
  disabled,
}: {
  label: string;
  rows: T[];
  id: (row: T) => string | number;
  name: (row: T) => string;
  cell: (row: T) => ReactNode;
  onMove: (from: number, to: number) => void;
  disabled?: boolean;
}) {
  const [dragged, setDragged] = useState<number>();
  const [over, setOver] = useState<number>();
  const end = () => {
    setDragged(undefined);
    setOver(undefined);
  };
  return (
    <ol className="u-list" aria-label={label}>
      {rows.map((row, i) => (
        <li
          key={id(row)}
          draggable={!disabled}
          data-over={(over === i && dragged !== i) || undefined}
          onDragStart={() => setDragged(i)}
          onDragEnd={end}
          onDragOver={(event) => {
            if (dragged === undefined) return;
            event.preventDefault();
            setOver(i);
          }}
          onDrop={(event) => {
            event.preventDefault();
            if (dragged !== undefined && dragged !== i) onMove(dragged, i);
            end();
          }}
        >
          {!disabled && <IconGripVertical size={14} aria-hidden />}
          {cell(row)}
          {!disabled && (
            <span className="u-row" data-nowrap>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={`Move ${name(row)} up`}
                disabled={i === 0}
                onClick={() => onMove(i, i - 1)}
              >
                <IconArrowUp size={14} aria-hidden />
              </ActionIcon>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={`Move ${name(row)} down`}
                disabled={i === rows.length - 1}
                onClick={() => onMove(i, i + 1)}
              >
                <IconArrowDown size={14} aria-hidden />
              </ActionIcon>
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
