import { Checkbox } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import type { CSSProperties, KeyboardEvent, MouseEvent, ReactNode } from "react";
import { useLocation } from "wouter";
import { plural } from "./format";
import { press } from "./keys";

export interface VColumn<T> {
  id: string;
  title: string;
  min: number; // px
  grow?: number; // share of the room that is left
  cell?: (row: T) => ReactNode;
  text?: (row: T) => string; // instead of cell: is clipped, and whole on hover
  right?: boolean;
  sorts?: boolean;
}

const nothing: ReadonlySet<string> = new Set();
const rowHeight = 36; // px, as are the next ones
const narrowHeight = 60;
const headHeight = 33; // with its line
const boxWidth = 36;

/**
 * VirtualTable shows thousands of rows, of which only the visible ones are in the page. Arrow keys move, Enter opens. The
 * table listens for its rows: a cell made of few plain elements, without handlers and state, scrolls well. On a narrow
 * screen a row has two lines: one column, and the others below it.
 */
export function VirtualTable<T>({
  label,
  rows,
  columns: all,
  narrow,
  id,
  name,
  sort,
  onSort,
  selected,
  onSelect,
  onOver,
  onOpen,
}: {
  label: string;
  rows: T[];
  columns: VColumn<T>[];
  narrow: string[]; // IDs of the columns that a narrow screen has room for: three or four
  id: (row: T) => string;
  name: (row: T) => string;
  sort?: { by: string; descending: boolean };
  onSort?: (by: string) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (selected: Set<string>) => void;
  onOver?: (isOver: boolean) => void; // the pointer came, or left
  onOpen: (row: T) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const [current, setCurrent] = useState(-1);
  const [, navigate] = useLocation();
  const isNarrow = useMediaQuery("(max-width: 760px)", undefined, { getInitialValueInEffect: false });
  const columns = useMemo(
    () => (isNarrow ? narrow.flatMap((one) => all.filter(({ id: of }) => of === one)) : all),
    [isNarrow, narrow, all],
  );
  const height = isNarrow ? narrowHeight : rowHeight;
  // eslint-disable-next-line react-hooks/incompatible-library -- the virtualizer changes by itself while one scrolls
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  const widths = columns.map(({ min, grow }) => (grow ? `minmax(${min}px, ${grow}fr)` : `${min}px`));
  const template = isNarrow ? undefined : [...(onSelect ? [`${boxWidth}px`] : []), ...widths].join(" ");
  const minWidth = isNarrow ? undefined : columns.reduce((sum, { min }) => sum + min, onSelect ? boxWidth : 0);
  const marked = selected ?? nothing;
  const latest = useRef({ marked, id, onSelect, onOpen });
  useEffect(() => {
    latest.current = { marked, id, onSelect, onOpen };
  });
  useEffect(() => () => onOver?.(false), [onOver]); // a table that goes is left, without an event
  const toggle = useCallback((row: T) => {
    const { marked: now, id: of, onSelect: select } = latest.current;
    const next = new Set(now);
    if (!next.delete(of(row))) next.add(of(row));
    select?.(next);
  }, []);
  const open = useCallback((row: T) => latest.current.onOpen(row), []);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setCurrent(next);
    virtual.scrollToIndex(next, { align: "auto" });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const row = rows[current];
    const handlers = {
      ArrowDown: () => move(current + 1),
      ArrowUp: () => move(current - 1),
      PageDown: () => move(current + 15),
      PageUp: () => move(current - 15),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      Enter: row && (() => onOpen(row)),
      " ": row && onSelect && (() => toggle(row)),
    };
    press("table", handlers, event);
  };
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    const to = (event.target as Element).closest<HTMLElement>("a[data-to]")?.dataset.to;
    if (!isPlain || to === undefined) return;
    event.preventDefault();
    navigate(to);
  };
  const isAll = rows.length > 0 && marked.size >= rows.length && rows.every((row) => marked.has(id(row)));

  return (
    <div
      ref={scroller}
      className="u-vtable u-fill"
      style={{ "--u-rows": `${virtual.getTotalSize() + headHeight}px` } as CSSProperties}
      role="grid"
      aria-label={label}
      data-selects={onSelect ? true : undefined}
      data-below={isNarrow ? columns.length - 1 : undefined}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={onSelect ? true : undefined}
      aria-activedescendant={current >= 0 && rows[current] ? `${prefix}-${current}` : undefined}
      tabIndex={0}
      onKeyDown={onKey}
      onClick={follow}
      onPointerEnter={() => onOver?.(true)}
      onPointerLeave={() => onOver?.(false)}
    >
      <div className="u-vhead" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, minWidth }}>
        {onSelect && (
          <div role="columnheader">
            <Checkbox
              size="xs"
              aria-label={`Select all ${plural(rows.length, "row")}`}
              checked={isAll}
              indeterminate={!isAll && marked.size > 0 && rows.some((row) => marked.has(id(row)))}
              onChange={() => onSelect(toggled(marked, rows.map(id), !isAll))}
            />
          </div>
        )}
        {columns.map((column) => {
          const sorted = sort?.by === column.id;
          const Sign = sort?.descending ? IconArrowDown : IconArrowUp;
          return (
            <div
              key={column.id}
              role="columnheader"
              data-right={column.right || undefined}
              aria-sort={sorted ? (sort.descending ? "descending" : "ascending") : undefined}
            >
              {column.sorts && onSort ? (
                <button type="button" onClick={() => onSort(column.id)}>
                  {column.title}
                  {sorted && <Sign size={12} aria-hidden />}
                </button>
              ) : (
                <span className="u-faint">{column.title}</span>
              )}
            </div>
          );
        })}
      </div>
      <div className="u-vbody" role="rowgroup" style={{ height: virtual.getTotalSize(), minWidth }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <VRow
              key={id(row)}
              domID={`${prefix}-${item.index}`}
              row={row}
              name={name}
              index={item.index}
              start={item.start}
              columns={columns}
              template={template}
              selects={onSelect !== undefined}
              isSelected={marked.has(id(row))}
              isCurrent={item.index === current}
              toggle={toggle}
              open={open}
            />
          );
        })}
      </div>
    </div>
  );
}

/** toggled is a selection with or without these rows; rows that do not show stay as they are. */
function toggled(selected: ReadonlySet<string>, ids: string[], on: boolean): Set<string> {
  const next = new Set(selected);
  for (const id of ids) {
    if (on) next.add(id);
    else next.delete(id);
  }
  return next;
}

interface VRowProps<T> {
  domID: string;
  row: T;
  name: (row: T) => string;
  index: number;
  start: number;
  columns: VColumn<T>[];
  template: string | undefined;
  selects: boolean;
  isSelected: boolean;
  isCurrent: boolean;
  toggle: (row: T) => void;
  open: (row: T) => void;
}

/** VRow is drawn again only when something of it changed: while one scrolls, only the rows that come into sight are. */
const VRow = memo(function VRow<T>({
  domID,
  row,
  name,
  index,
  start,
  columns,
  template,
  selects,
  isSelected,
  isCurrent,
  toggle,
  open,
}: VRowProps<T>) {
  return (
    <div
      id={domID}
      className="u-vrow"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selects ? isSelected : undefined}
      data-current={isCurrent || undefined}
      style={{ gridTemplateColumns: template, top: start }}
      onDoubleClick={() => open(row)}
    >
      {selects && (
        <div role="gridcell">
          <input
            type="checkbox"
            className="u-check"
            aria-label={`Select ${name(row)}`}
            checked={isSelected}
            onChange={() => toggle(row)}
          />
        </div>
      )}
      {columns.map((column) => {
        const text = column.text?.(row).slice(0, 300);
        return (
          <div
            key={column.id}
            role="gridcell"
            className={text === undefined ? undefined : "u-clip"}
            title={text}
            data-right={column.right || undefined}
          >
            {text ?? column.cell?.(row)}
          </div>
        );
      })}
    </div>
  );
}) as <T>(props: VRowProps<T>) => ReactNode;
