// Runs statements: a session for each tab, opened again where it has expired, and one run at a time in each.
import { ApiError, api, type Failure, type StatementAnswer } from "./api";
import { RowWindows } from "./rows";
import { rowLimit, type Result, type Run, type SqlTab } from "./state";

const PROFILE_EVERY_MS = 400;
const WAIT_S = 10;

export async function runStatement(tab: SqlTab, text: string, from: number): Promise<void> {
  const before = tab.run.value;
  if (before && isRunning(before)) return;
  if (before?.statementId) void api.close(before.statementId).catch(() => undefined);
  const started: Run = { statementId: "", text, from, state: "PENDING", startedMs: Date.now() };
  tab.run.value = started;
  if (tab.view.value === "profile") tab.view.value = "rows";
  try {
    const answer = await submit(tab, text);
    tab.run.value = { ...started, statementId: answer.statement_id, state: answer.status.state };
    await follow(tab, answer.statement_id);
  } catch (error) {
    tab.run.value = { ...(tab.run.value as Run), state: "FAILED", failure: failureOf(error) };
  }
}

/** Takes up the run of a tab that was reloaded. */
export async function resumeRun(tab: SqlTab): Promise<void> {
  const run = tab.run.value;
  if (!run || !isRunning(run)) return;
  try {
    await follow(tab, run.statementId);
  } catch (error) {
    const failure = failureOf(error);
    const isGone = failure.condition?.startsWith("INVALID_HANDLE");
    tab.run.value = isGone ? undefined : { ...run, state: "FAILED", failure };
  }
}

export async function cancelRun(tab: SqlTab): Promise<void> {
  const run = tab.run.value;
  if (run?.statementId && isRunning(run)) await api.cancel(run.statementId);
}

export async function closeTab(tab: SqlTab): Promise<void> {
  const sessionId = tab.sessionId.value;
  if (sessionId) await api.endSession(sessionId).catch(() => undefined);
}

export function isRunning(run: Run): boolean {
  return run.state === "PENDING" || run.state === "RUNNING";
}

async function submit(tab: SqlTab, text: string): Promise<StatementAnswer> {
  const known = tab.sessionId.value;
  if (known) {
    try {
      return await api.submit(text, known, rowLimit.value);
    } catch (error) {
      if (!(error instanceof ApiError) || error.failure.condition !== "INVALID_HANDLE.SESSION_NOT_FOUND") throw error;
    }
  }
  const { session_id } = await api.openSession();
  tab.sessionId.value = session_id;
  return api.submit(text, session_id, rowLimit.value);
}

/** Until the statement has ended: waits for its end, and shows how far it is in between. */
async function follow(tab: SqlTab, id: string): Promise<void> {
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const profile = await api.profile(id).catch(() => undefined);
      const run = tab.run.value;
      if (profile && run?.statementId === id) tab.run.value = { ...run, profile };
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, PROFILE_EVERY_MS));
    }
  };
  const quick = await api.statement(id, 1);
  let answer = quick;
  if (isWaiting(answer)) void watch();
  try {
    while (isWaiting(answer)) answer = await api.statement(id, WAIT_S);
  } finally {
    isOver = true;
  }
  const profile = await api.profile(id).catch(() => undefined);
  const run = tab.run.value;
  if (run?.statementId !== id) return;
  const failure = answer.status.error && { ...answer.status.error, sql_state: answer.status.sql_state };
  tab.run.value = { ...run, state: answer.status.state, profile, failure, result: resultOf(answer) };
}

function isWaiting(answer: StatementAnswer): boolean {
  return answer.status.state === "PENDING" || answer.status.state === "RUNNING";
}

function resultOf(answer: StatementAnswer): Result | undefined {
  const { manifest, statement_id: statementId } = answer;
  if (!manifest) return undefined;
  return {
    statementId,
    columns: manifest.schema.columns,
    total: manifest.total_row_count,
    bytes: manifest.total_byte_count,
    truncated: manifest.truncated,
    rows: windowsOf(statementId, manifest.total_row_count),
  };
}

function windowsOf(id: string, total: number): RowWindows {
  return new RowWindows(total, (offset, limit, signal, cut, columns) =>
    api.rows(id, { offset, limit, cut, columns: columns?.join(",") }, signal));
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return error.failure;
  return { error_code: "UNREACHABLE", message: `The server cannot be reached: ${error instanceof Error ? error.message : error}` };
}
