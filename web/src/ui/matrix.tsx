import type { ReactNode } from "react";

/** Matrix is a table with a heading for every row and column, whose first column stays while one scrolls sideways. */
export function Matrix({
  label,
  corner,
  columns,
  rows,
}: {
  label: string;
  corner: string;
  columns: { id: string; title: ReactNode }[];
  rows: { id: string; title: ReactNode; cells: ReadonlyMap<number, ReactNode> }[];
}) {
  return (
    <div className="u-scroll" tabIndex={0} role="group" aria-label={label}>
      <table className="u-table u-matrix">
        <thead>
          <tr>
            <th scope="col">{corner}</th>
            {columns.map((column) => (
              <th key={column.id} scope="col">
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">{row.title}</th>
              {columns.map((column, i) => (
                <td key={column.id}>{row.cells.get(i)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
