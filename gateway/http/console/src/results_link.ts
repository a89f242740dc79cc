// Links to results: `#result/<statement id>` shows a statement that the server still knows, with its rows if it has them
// for this user.
import { api, type QueryRow } from "./api";
import { isRunning, resumeRuns } from "./runner";
import { firstWords } from "./statements";
import { openMissingTab, openResultTab, removeTab, renameTab, type Run, type RunState, type SqlTab } from "./state";
import { strings } from "./strings";

const AGAIN_MS = 2000;
const WORDS_LENGTH = 24;
const STATES: Record<QueryRow["status"], RunState> = { QUEUED: "PENDING", RUNNING: "RUNNING", FINISHED: "SUCCEEDED", FAILED: "FAILED", CANCELED: "CANCELED" };

export async function openResult(statementId: string): Promise<void> {
  const tab = openResultTab(statementId, strings.queries.resultTab);
  if (tab.isLinked) await showLinked(tab);
}

/** Loads what a tab shows that was opened by a link. */
export async function showLinked(tab: SqlTab): Promise<void> {
  const run = tab.run.value;
  if (!run) return;
  const id = run.statementId;
  const [hasRows, info] = await Promise.all([
    api.statement(id, 0).then(() => true, () => false),
    api.findQuery(id).catch(() => undefined),
  ]);
  if (!hasRows && !info) {
    removeTab(tab.id);
    openMissingTab(`#result/${encodeURIComponent(id)}`, strings.queries.missingResult, strings.queries.missingResultHelp);
    return;
  }
  if (info) renameTab(tab.id, strings.queries.resultOf(firstWords(info.query_text, WORDS_LENGTH)));
  if (info) tab.run.value = { ...run, info, text: info.query_text, startedMs: info.query_start_time_ms };
  if (hasRows) return resumeRuns(tab);
  if (info) showListed(tab, info);
}

/** Shows the state of a statement whose rows are not for this page, until it has ended. */
function showListed(tab: SqlTab, info: QueryRow): void {
  const run = tab.run.value as Run;
  const { error_message: message, condition, hint, line, column, excerpt } = info;
  const failure = message === undefined ? undefined : { error_code: "", message, condition, hint, line, column, excerpt };
  tab.run.value = { ...run, info, state: STATES[info.status], failure };
  if (!isRunning(tab.run.value as Run)) return;
  setTimeout(() => void api.findQuery(info.query_id).then((next) => next && showListed(tab, next), () => undefined), AGAIN_MS);
}
