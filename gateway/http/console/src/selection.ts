// Which rows and columns of a result the grid shows: conditions, order, hidden columns. Kept per statement, so that they
// stay when the user looks at the chart in between.
import { signal, type Signal } from "@preact/signals";
import { api } from "./api";
import { RowWindows } from "./rows";
import type { Result } from "./state";

export type Operator = "contains" | "equals" | "range" | "is_null" | "is_not_null";

/** A condition on a column, by its position, as the server takes it in `filter`. */
export interface Condition {
  column: number;
  operator: Operator;
  value?: string;
  from?: string;
  to?: string;
}

export interface Selection {
  conditions: Condition[];
  /** The position of a column and its direction, as in `0.desc`. */
  order?: string;
  /** Number of rows that satisfy the conditions. */
  count: number;
  rows: RowWindows;
}

export interface GridState {
  selection: Signal<Selection>;
  hidden: Signal<ReadonlySet<number>>;
  widths: Signal<Readonly<Record<number, number>>>;
}

const KEPT_MAX = 30;
const kept = new Map<string, GridState>();

export function gridState(result: Result): GridState {
  let state = kept.get(result.statementId);
  if (!state) {
    state = {
      selection: signal({ conditions: [], count: result.total, rows: result.rows }),
      hidden: signal(new Set<number>()),
      widths: signal({}),
    };
    kept.set(result.statementId, state);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT_MAX) break;
      kept.delete(oldest);
    }
  }
  return state;
}

/** The conditions as the query parameter `filter`; undefined without any. */
export function filterText(conditions: Condition[]): string | undefined {
  return conditions.length ? JSON.stringify(conditions) : undefined;
}

/** Selects rows by other conditions; throws what the server answers to conditions that it rejects. */
export async function filterRows(result: Result, conditions: Condition[]): Promise<void> {
  const { selection } = gridState(result);
  const count = conditions.length ? await api.resultCount(result.statementId, filterText(conditions)) : result.total;
  const { order } = selection.value;
  selection.value = { conditions, order, count, rows: windowsOf(result, count, order, conditions) };
}

/** Sorts the rows; without `order` they are as the statement returned them. */
export function sortRows(result: Result, order: string | undefined): void {
  const { selection } = gridState(result);
  const { conditions, count } = selection.value;
  selection.value = { conditions, order, count, rows: windowsOf(result, count, order, conditions) };
}

/** A click on a header: ascending, descending, and as the statement returned the rows. */
export function nextOrder(order: string | undefined, column: number): string | undefined {
  if (order === `${column}.asc`) return `${column}.desc`;
  return order === `${column}.desc` ? undefined : `${column}.asc`;
}

function windowsOf({ statementId }: Result, count: number, order: string | undefined, conditions: Condition[]): RowWindows {
  const filter = filterText(conditions);
  return new RowWindows(count, (offset, limit, signal, cut, columns) =>
    api.rows(statementId, { offset, limit, order, filter, cut, columns: columns?.join(",") }, signal));
}
