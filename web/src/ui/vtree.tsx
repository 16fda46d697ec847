import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

const rowHeight = 30; // px
const indent = 16; // px of each level

/** TreeRow is what a row of a tree has to say of itself. */
export interface TreeRow {
  key: string;
  depth: number;
  hasChildren: boolean;
  isOpen: boolean;
}

/**
 * VirtualTree shows the rows of a tree, of which only the visible ones are in the page. Up and down move, right opens a row
 * or goes into it, left closes it or goes out, Enter chooses it.
 */
export function VirtualTree<T>({
  label,
  rows,
  of,
  cell,
  chosen,
  onChoose,
  onToggle,
}: {
  label: string;
  rows: T[];
  of: (row: T) => TreeRow;
  cell: (row: T) => ReactNode;
  chosen: string;
  onChoose: (row: T) => void;
  onToggle: (row: T) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const [at, setAt] = useState("");
  // eslint-disable-next-line react-hooks/incompatible-library -- the virtualizer changes by itself while one scrolls
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const current = rows.findIndex((row) => of(row).key === (at || chosen));
  const shown = useRef("");
  useEffect(() => {
    if (!chosen || shown.current === chosen) return;
    const index = rows.findIndex((row) => of(row).key === chosen);
    if (index < 0) return;
    shown.current = chosen;
    virtual.scrollToIndex(index, { align: "auto" });
  }, [chosen, rows, of, virtual]);
  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    const row = rows[index];
    if (row === undefined) return;
    setAt(of(row).key);
    virtual.scrollToIndex(index, { align: "auto" });
  };
  const out = () => {
    const depth = rows[current] ? of(rows[current]).depth : 0;
    for (let i = current - 1; i >= 0; i--) {
      const row = rows[i];
      if (row && of(row).depth < depth) return move(i);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const row = rows[current];
    const is = row && of(row);
    if (event.key === "ArrowDown") move(current + 1);
    else if (event.key === "ArrowUp") move(current - 1);
    else if (event.key === "PageDown") move(current + 15);
    else if (event.key === "PageUp") move(current - 15);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(rows.length - 1);
    else if (event.key === "ArrowRight" && row && is?.hasChildren) {
      if (is.isOpen) move(current + 1);
      else onToggle(row);
    } else if (event.key === "ArrowLeft" && row) {
      if (is?.hasChildren && is.isOpen) onToggle(row);
      else out();
    } else if ((event.key === "Enter" || event.key === " ") && row) onChoose(row);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={scroller}
      className="u-tree"
      role="tree"
      aria-label={label}
      aria-activedescendant={current >= 0 ? `${prefix}-${current}` : undefined}
      tabIndex={0}
      onKeyDown={press}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const { key, depth, hasChildren, isOpen } = of(row);
          const Sign = isOpen ? IconChevronDown : IconChevronRight;
          return (
            <div
              key={key}
              id={`${prefix}-${item.index}`}
              className="u-tree-row"
              role="treeitem"
              aria-level={depth + 1}
              aria-expanded={hasChildren ? isOpen : undefined}
              aria-selected={key === chosen}
              data-current={item.index === current || undefined}
              style={{ top: item.start, paddingLeft: 8 + depth * indent }}
              onClick={() => {
                setAt(key);
                if (hasChildren) onToggle(row);
                onChoose(row);
              }}
            >
              {hasChildren ? <Sign size={14} aria-hidden /> : <span className="u-tree-leaf" />}
              {cell(row)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
