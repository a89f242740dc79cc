// Links to results: `#result/<statement id>` shows the result of a statement that the server still has.
import { api } from "./api";
import { resumeRuns } from "./runner";
import { openMissingTab, openResultTab } from "./state";
import { strings } from "./strings";

export async function openResult(statementId: string): Promise<void> {
  try {
    await api.statement(statementId, 0);
  } catch {
    openMissingTab(`#result/${encodeURIComponent(statementId)}`, strings.queries.missingResult, strings.queries.missingResultHelp);
    return;
  }
  await resumeRuns(openResultTab(statementId, strings.queries.resultTab));
}
