// A table of rows that are objects. Numbers are at the right in heads and cells; on a narrow screen each row is a card
// whose cells have the heads as labels.
import { Fragment, type ComponentChildren } from "preact";

export interface Column<R> {
  /** Empty for a column of buttons. */
  head: string;
  isNumeric?: boolean;
  isCode?: boolean;
  class?: string;
  cell: (row: R) => ComponentChildren;
}

export function DataTable<R>({ label, columns, rows, keyOf, details }: {
  label: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  keyOf: (row: R) => string;
  /** What is shown below a row over the whole width. */
  details?: (row: R) => ComponentChildren;
}) {
  const classOf = ({ isNumeric, isCode, class: own = "" }: Column<R>) =>
    [isNumeric && "numeric", isCode && "code", own].filter(Boolean).join(" ");
  return (
    <table class="list cards" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column, at) =>
            column.head ? <th key={at} scope="col" class={column.isNumeric ? "numeric" : ""}>{column.head}</th> : <td key={at} />)}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const below = details?.(row);
          return (
            <Fragment key={keyOf(row)}>
              <tr>
                {columns.map((column, at) => <td key={at} class={classOf(column)} data-head={column.head}>{column.cell(row)}</td>)}
              </tr>
              {below && <tr class="details"><td colSpan={columns.length}>{below}</td></tr>}
            </Fragment>
          );
        })}
      </tbody>
    </table>
  );
}
