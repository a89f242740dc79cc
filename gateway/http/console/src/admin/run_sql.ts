// Runs one statement of an administration page, in a session of its own, and reads its few rows as text.
import { ApiError, api, type InlineAnswer } from "../api";

const WAIT_S = 20;
const WARNING = "Warning: ";

export type Row = Record<string, string | null>;

export interface Outcome {
  rows: Row[];
  /** Of a statement that changes something, such as a grant that no server enforces. */
  warnings: string[];
}

/** Raises `ApiError` if the statement fails. */
export async function runSql(text: string): Promise<Outcome> {
  let answer = await api.submitInline(text, WAIT_S);
  while (isWaiting(answer)) answer = await api.statementInline(answer.statement_id, WAIT_S);
  const { status, statement_id: id, manifest, result } = answer;
  if (status.error) throw new ApiError(400, { ...status.error, sql_state: status.sql_state });
  const columns = manifest?.schema.columns ?? [];
  const cells = result?.data_array ?? [];
  for (let chunk = 1; chunk < (manifest?.total_chunk_count ?? 0); chunk++) {
    cells.push(...((await api.chunk(id, chunk)).data_array ?? []));
  }
  const log = columns.length ? [] : ((await api.profile(id)).log ?? []);
  void api.close(id).catch(() => undefined);
  return {
    rows: cells.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null]))),
    warnings: log.filter((line) => line.startsWith(WARNING)).map((line) => line.slice(WARNING.length)),
  };
}

/** The rows of a query. */
export async function rowsOf(text: string): Promise<Row[]> {
  return (await runSql(text)).rows;
}

function isWaiting({ status }: InlineAnswer): boolean {
  return status.state === "PENDING" || status.state === "RUNNING";
}
