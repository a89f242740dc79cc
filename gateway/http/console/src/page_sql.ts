// Statements that a page runs for itself, in a session of its own, under the user's rights.
import { ApiError, api } from "./api";
import { RowWindows, type Cell } from "./rows";
import type { Result } from "./state";

const ROWS_MAX = 10_000;
const WAIT_S = 10;

let session: Promise<string> | undefined;

/** The result of a statement; whoever gets it closes it by `api.close`. Throws the statement's error. */
export async function pageResult(text: string, signal?: AbortSignal): Promise<Result> {
  let answer = await submitted(text);
  const { statement_id: statementId } = answer;
  try {
    while (answer.status.state === "PENDING" || answer.status.state === "RUNNING") {
      signal?.throwIfAborted();
      answer = await api.statement(statementId, WAIT_S);
    }
    if (answer.status.error) throw new ApiError(200, answer.status.error);
  } catch (error) {
    void api.close(statementId).catch(() => undefined);
    throw error;
  }
  const { manifest } = answer;
  const total = manifest?.total_row_count ?? 0;
  return {
    statementId,
    columns: manifest?.schema.columns ?? [],
    total,
    bytes: manifest?.total_byte_count ?? 0,
    truncated: manifest?.truncated ?? false,
    rows: new RowWindows(total, (offset, limit, aborted, cut, columns) => api.rows(statementId, { offset, limit, cut, columns: columns?.join(",") }, aborted)),
  };
}

/** All cells of a small result. */
export async function pageRows(text: string): Promise<{ columns: string[]; rows: Cell[][] }> {
  const result = await pageResult(text);
  try {
    const rows = await result.rows.lines(0, result.total - 1, result.columns.map((_, at) => at));
    return { columns: result.columns.map((column) => column.name), rows };
  } finally {
    void api.close(result.statementId).catch(() => undefined);
  }
}

async function submitted(text: string) {
  const known = session;
  try {
    return await api.submit(text, await opened(), ROWS_MAX);
  } catch (error) {
    const isExpired = error instanceof ApiError && error.failure.condition === "INVALID_HANDLE.SESSION_NOT_FOUND";
    if (!known || !isExpired) throw error;
    session = undefined;
    return api.submit(text, await opened(), ROWS_MAX);
  }
}

function opened(): Promise<string> {
  session ??= api.openSession().then(({ session_id }) => session_id);
  session.catch(() => (session = undefined));
  return session;
}
