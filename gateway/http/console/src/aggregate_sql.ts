// SQL that aggregates the rows of a statement, or pivots them: the statement is the query in FROM. Pure.
import type { ResultColumn } from "./api";
import { NUMERIC } from "./columns";
import { quoted } from "./names";

export const AGGREGATES = ["count", "sum", "avg", "min", "max", "count_distinct"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export interface Aggregation {
  /** Names of columns. Each combination of the values of `rows` is a row of the result. */
  rows: string[];
  aggregate: Aggregate;
  /** The aggregated column; not used by `count`. */
  value: string;
  /** Each of these values of the column is a column of the result, as SQL literals. */
  pivot?: { column: string; literals: string[] };
}

/** Whether the rows of a statement can be read by another one. */
export function isQuery(text: string): boolean {
  const first = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*\(?\s*(\w+)/s.exec(text)?.[1] ?? "";
  return ["SELECT", "WITH", "VALUES", "TABLE", "FROM"].includes(first.toUpperCase());
}

export function aggregateSql(text: string, { rows, aggregate, value, pivot }: Aggregation): string {
  const names = rows.map(quoted);
  const source = `(\n${text.trim().replace(/;$/, "")}\n) AS result`;
  const order = rows.length ? "\nORDER BY ALL" : "";
  if (!pivot) {
    const name = quoted(aggregate === "count" ? "count" : `${aggregate} of ${value}`);
    return `SELECT ${[...names, `${call(aggregate, value)} AS ${name}`].join(", ")}\nFROM ${source}${rows.length ? "\nGROUP BY ALL" : ""}${order}`;
  }
  const read = [...new Set([...rows, pivot.column, ...(aggregate === "count" ? [] : [value])])].map(quoted).join(", ");
  const made = `PIVOT (${call(aggregate, value)} FOR ${quoted(pivot.column)} IN (${pivot.literals.join(", ")}))`;
  return `SELECT *\nFROM (SELECT ${read} FROM ${source})\n${made}${order}`;
}

function call(aggregate: Aggregate, value: string): string {
  if (aggregate === "count") return "count(*)";
  return aggregate === "count_distinct" ? `count(DISTINCT ${quoted(value)})` : `${aggregate}(${quoted(value)})`;
}

/** A value of a column as a SQL literal; undefined for types that cannot be a column of a pivoted result. */
export function literal(value: string, { type_name: type }: Pick<ResultColumn, "type_name">): string | undefined {
  if (NUMERIC.test(type)) return /^-?\d+(\.\d+)?$/.test(value) ? value : undefined;
  switch (type) {
    case "STRING":
    case "CHAR":
      return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    case "BOOLEAN":
      return value;
    case "DATE":
      return `DATE'${value}'`;
    default:
      return undefined;
  }
}
