import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { createContext, useContext, useState, type ReactNode } from "react";
import { useInAddress } from "./address";
import { sortedBy } from "./order";
import type { Tone } from "./state";

export function Row({
  children,
  end,
  nowrap,
  spread,
}: {
  children: ReactNode;
  end?: boolean;
  nowrap?: boolean;
  spread?: boolean;
}) {
  return (
    <div className="u-row" data-end={end || undefined} data-nowrap={nowrap || undefined} data-spread={spread || undefined}>
      {children}
    </div>
  );
}

export function Stack({ children, tight }: { children: ReactNode; tight?: boolean }) {
  return (
    <div className="u-stack" data-tight={tight || undefined}>
      {children}
    </div>
  );
}

/** StandingSince is how something is, and beside it since when. */
export function StandingSince({ children, since }: { children: ReactNode; since?: ReactNode }) {
  return (
    <div className="u-standing">
      <Stack tight>{children}</Stack>
      {since && <div className="u-muted">{since}</div>}
    </div>
  );
}

export function Columns({ children, wide, small }: { children: ReactNode; wide?: boolean; small?: boolean }) {
  return (
    <div className="u-columns" data-wide={wide || undefined} data-small={small || undefined}>
      {children}
    </div>
  );
}

/** Split is a main part and a smaller one beside it. */
export function Split({ children }: { children: ReactNode }) {
  return <div className="u-split">{children}</div>;
}

export function Grow({ children }: { children?: ReactNode }) {
  return <div className="u-grow">{children}</div>;
}

/** Named is what a table is called: the title of its panel, or of its page. */
export const Named = createContext("Table");

export function Panel({
  title,
  actions,
  children,
  flush,
  tone,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  flush?: boolean;
  tone?: Tone;
}) {
  return (
    <section className="u-panel" data-tone={tone} aria-label={typeof title === "string" ? title : undefined}>
      {title !== undefined && (
        <div className="u-panel-head">
          <h2 className="u-panel-title u-grow">{title}</h2>
          {actions}
        </div>
      )}
      <div className="u-panel-body" data-flush={flush || undefined}>
        {typeof title === "string" ? <Named value={title}>{children}</Named> : children}
      </div>
    </section>
  );
}

export function Rows({ children, dense }: { children: ReactNode; dense?: boolean }) {
  return (
    <ul className="u-list" data-dense={dense || undefined}>
      {children}
    </ul>
  );
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="u-facts">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export interface Column<T> {
  title: string;
  cell: (row: T) => ReactNode;
  right?: boolean;
  by?: (row: T) => number | string; // the list is sorted by it; the least comes first
  order?: string; // name of the order that the server gives the list in, where it is one page of many
}

/** Order is how the server orders a list of which one page shows. */
export interface Order {
  by: string;
  descending: boolean;
}

interface OwnOrder {
  title: string;
  descending: boolean;
}

/** useOwnOrder is how a person sorted a list: in the address under a name, or without a name until they leave the page. */
function useOwnOrder(kept: string): [own: OwnOrder | undefined, change: (order: OwnOrder) => void] {
  const [own, setOwn] = useState<OwnOrder>();
  const [text, setText] = useInAddress(kept || "sort");
  if (kept === "") return [own, setOwn];
  const inAddress = text ? { title: text.replace(/^-/, ""), descending: text.startsWith("-") } : undefined;
  return [inAddress, ({ title, descending }) => setText(`${descending ? "-" : ""}${title}`)];
}

/**
 * List is a plain table for tens of rows; see VirtualTable for thousands. On a narrow page each row is a block, in which
 * every cell but the first one has the title of its column before it. Rows keep their order until one sorts them. Where
 * the rows are one page of many the server sorts all of them: order says how, and onOrder asks for another order.
 */
export function List<T>({
  rows,
  columns,
  id,
  order,
  onOrder,
  kept = "",
}: {
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string | number;
  order?: Order;
  onOrder?: (order: Order) => void;
  kept?: string; // the name in the address under which it keeps an order of its own; none: it is not kept
}) {
  const name = useContext(Named);
  const [own, setOwn] = useOwnOrder(kept);
  const ordered = order && columns.find((column) => column.order === order.by);
  const sort = ordered ? { title: ordered.title, descending: order.descending } : own;
  const sortBy = (column: Column<T>, descending: boolean) => {
    if (column.order && onOrder) onOrder({ by: column.order, descending });
    else setOwn({ title: column.title, descending });
  };
  const by = columns.find(({ title }) => title === sort?.title)?.by;
  const shown = by ? sortedBy(rows, by, sort?.descending) : rows;
  return (
    <div className="u-scroll" tabIndex={0} role="group" aria-label={`${name}, table`}>
      <table className="u-table u-blocks" aria-label={name}>
        <thead>
          <tr>
            {columns.map((column) => {
              const sorted = sort?.title === column.title ? sort : undefined;
              const Sign = sorted?.descending ? IconArrowDown : IconArrowUp;
              return (
                <th
                  key={column.title}
                  scope="col"
                  data-right={column.right || undefined}
                  aria-sort={sorted ? (sorted.descending ? "descending" : "ascending") : undefined}
                >
                  {column.by || column.order ? (
                    <button type="button" onClick={() => sortBy(column, sorted?.descending === false)}>
                      {column.title}
                      {sorted && <Sign size={12} aria-hidden />}
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={id(row)}>
              {columns.map((column) => (
                <td key={column.title} data-title={column.title || undefined} data-right={column.right || undefined}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
