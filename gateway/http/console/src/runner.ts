// Runs statements: a session for each tab, opened again where it has expired, and one statement at a time in each.
import { ApiError, api, type Failure, type SessionContext, type StatementAnswer } from "./api";
import { failureParts } from "./failure_parts";
import { parametersOf } from "./parameters";
import { RowWindows } from "./rows";
import { continuesOnError, rowLimit, type Result, type Run, type SqlTab } from "./state";
import { strings } from "./strings";
import { notify } from "./ui/notice";

const PROFILE_EVERY_MS = 400;
const WAIT_S = 10;
const RETRY_MS = [500, 1000, 2000, 4000];
const RETRIES_MAX = 150;

export interface Statement {
  text: string;
  /** Where in the tab's text it begins. */
  from: number;
}

/** The statements of a tab that run, by the tab's id. */
const batches = new Map<string, { isCancelled: boolean }>();

/** Runs statements in their order. After a failure the others do not run, unless the user chose to continue on errors. */
export async function runStatements(tab: SqlTab, statements: Statement[]): Promise<void> {
  if (batches.has(tab.id) || isBusy(tab) || !statements.length) return;
  for (const { statementId } of tab.runs.value) if (statementId) void api.close(statementId).catch(() => undefined);
  const view = tab.view.value === "chart" ? "chart" : "rows";
  tab.runs.value = statements.map((statement) => (
    { id: crypto.randomUUID(), statementId: "", ...statement, state: "WAITING", startedMs: 0, view }
  ));
  const batch = { isCancelled: false };
  batches.set(tab.id, batch);
  try {
    let isShown = true; // until the user looks at another result
    let last = "";
    for (const { id } of tab.runs.value) {
      isShown &&= !last || tab.shownRun.value === last;
      if (isShown) tab.shownRun.value = id;
      last = id;
      await runOne(tab, id, batch);
      const state = runOf(tab, id)?.state;
      if (batch.isCancelled || state === "CANCELED" || (state !== "SUCCEEDED" && !continuesOnError.value)) break;
    }
  } finally {
    batches.delete(tab.id);
    tab.runs.value = tab.runs.value.map((run) => (run.state === "WAITING" ? { ...run, state: "SKIPPED" } : run));
  }
}

async function runOne(tab: SqlTab, id: string, batch: { isCancelled: boolean }): Promise<void> {
  change(tab, id, { state: "PENDING", startedMs: Date.now() });
  try {
    const answer = await submit(tab, runOf(tab, id)?.text ?? "");
    change(tab, id, { statementId: answer.statement_id, state: answer.status.state });
    if (batch.isCancelled) await api.cancel(answer.statement_id);
    await follow(tab, id);
  } catch (error) {
    const failure = failureOf(error);
    change(tab, id, { state: "FAILED", failure: isGone(failure) ? { ...failure, hint: strings.editor.lostStatement } : failure });
  }
}

/** Resumes the runs of a tab after a reload. */
export async function resumeRuns(tab: SqlTab): Promise<void> {
  for (const run of tab.runs.value.filter(isRunning)) {
    try {
      await follow(tab, run.id);
    } catch (error) {
      const failure = failureOf(error);
      if (isGone(failure)) tab.runs.value = tab.runs.value.filter(({ id }) => id !== run.id);
      else change(tab, run.id, { state: "FAILED", failure });
    }
  }
}

/** Cancels the running statement; the ones after it do not run. */
export async function cancelRun(tab: SqlTab): Promise<void> {
  const batch = batches.get(tab.id);
  if (batch) batch.isCancelled = true;
  const running = tab.runs.value.find(isRunning);
  if (running?.statementId) await api.cancel(running.statementId).catch((error: unknown) => notify(failureOf(error).message));
}

export async function closeTab(tab: SqlTab): Promise<void> {
  const batch = batches.get(tab.id);
  if (batch) batch.isCancelled = true;
  const sessionId = tab.sessionId.value;
  if (sessionId) await api.endSession(sessionId).catch(() => undefined);
}

export function isRunning(run: Run): boolean {
  return run.state === "PENDING" || run.state === "RUNNING";
}

/** Whether statements of the tab run. */
export function isBusy(tab: SqlTab): boolean {
  return tab.runs.value.some((run) => isRunning(run) || run.state === "WAITING");
}

function runOf(tab: SqlTab, id: string): Run | undefined {
  return tab.runs.value.find((run) => run.id === id);
}

function change(tab: SqlTab, id: string, changed: Partial<Run>): void {
  tab.runs.value = tab.runs.value.map((run) => (run.id === id ? { ...run, ...changed } : run));
}

/** Whether the server does not know the statement: it was restarted, or the result has expired. */
function isGone(failure: Failure): boolean {
  return failure.condition?.startsWith("INVALID_HANDLE") ?? false;
}

async function submit(tab: SqlTab, text: string): Promise<StatementAnswer> {
  const parameters = await parametersOf(tab, text);
  const known = tab.sessionId.value;
  if (known) {
    try {
      return await api.submit(text, known, rowLimit.value, parameters);
    } catch (error) {
      if (!isSessionGone(error)) throw error;
      notify(strings.editor.newSession);
    }
  }
  takeContext(tab, await openSession(tab));
  return api.submit(text, tab.sessionId.value as string, rowLimit.value, parameters);
}

/** A session in the tab's catalog and schema, or where statements begin if those do not exist any more. */
async function openSession(tab: SqlTab): Promise<SessionContext> {
  if (!tab.catalog.value) return api.openSession();
  try {
    return await api.openSession(tab.catalog.value, tab.schema.value);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notify(failureParts(error.failure).text);
    return api.openSession();
  }
}

/** Makes a schema the current one of the tab's session, as USE does. */
export async function useSchema(tab: SqlTab, catalog: string, schema: string): Promise<void> {
  const sessionId = tab.sessionId.value;
  try {
    if (sessionId) takeContext(tab, await api.changeSession(sessionId, catalog, schema));
    else takeContext(tab, { session_id: "", catalog, schema });
  } catch (error) {
    if (isSessionGone(error)) takeContext(tab, { session_id: "", catalog, schema });
    else notify(failureParts(failureOf(error)).text);
  }
}

function takeContext(tab: SqlTab, context: SessionContext): void {
  tab.sessionId.value = context.session_id || undefined;
  tab.catalog.value = context.catalog;
  tab.schema.value = context.schema;
}

function isSessionGone(error: unknown): boolean {
  return error instanceof ApiError && error.failure.condition === "INVALID_HANDLE.SESSION_NOT_FOUND";
}

/** Waits for the end of a statement, and shows its progress in between. */
async function follow(tab: SqlTab, id: string): Promise<void> {
  const statementId = runOf(tab, id)?.statementId ?? "";
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const profile = await api.profile(statementId).catch(() => undefined);
      if (profile && !isOver) change(tab, id, { profile });
      if (!isOver) await pause(PROFILE_EVERY_MS);
    }
  };
  let answer = await insistently(() => api.statement(statementId, 1));
  if (isWaiting(answer)) void watch();
  try {
    while (isWaiting(answer)) answer = await insistently(() => api.statement(statementId, WAIT_S));
  } finally {
    isOver = true;
  }
  if (answer.session && answer.session.session_id === tab.sessionId.value) takeContext(tab, answer.session);
  const profile = await api.profile(statementId).catch(() => undefined);
  const failure = answer.status.error && { ...answer.status.error, sql_state: answer.status.sql_state };
  change(tab, id, { state: answer.status.state, profile, failure, result: resultOf(answer) });
}

/** Sends a request that only reads again while the server cannot be reached; the user gets one message. */
async function insistently<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await send();
      if (attempt) notify(strings.editor.connected);
      return answer;
    } catch (error) {
      if (error instanceof ApiError || attempt === RETRIES_MAX) throw error;
      if (!attempt) notify(strings.editor.connectionLost);
      await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] as number);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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
    fromCache: manifest.from_result_cache ?? false,
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
