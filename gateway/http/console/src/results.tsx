// The results of a tab's statements: a tab for each if there are several, and the views of the one that is shown.
import { useEffect, useState } from "preact/hooks";
import { AggregateDialog } from "./aggregate";
import { isQuery } from "./aggregate_sql";
import { api } from "./api";
import { Chart } from "./chart";
import { FailurePanel } from "./failure";
import { formatBytes, formatCount, formatDuration } from "./format";
import { copyWithNotice } from "./clipboard";
import { Grid } from "./grid";
import { ProfileView, Progress } from "./profile";
import { isRunning } from "./runner";
import { copyLink } from "./saved_queries";
import { firstWords } from "./statements";
import type { Result, ResultView, Run, RunState, SqlTab } from "./state";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { Icon, type IconName } from "./ui/icon";
import { EmptyState } from "./ui/notice";
import { Tabs } from "./ui/tabs";

const VIEW_ICONS: Record<ResultView, IconName> = { rows: "table", chart: "chart", profile: "plan" };
const STATE_ICONS: Record<RunState, IconName> = {
  WAITING: "clock",
  PENDING: "refresh",
  RUNNING: "refresh",
  SUCCEEDED: "success",
  FAILED: "error",
  CANCELED: "stop",
  CLOSED: "stop",
  SKIPPED: "right",
};
const WORDS_LENGTH = 24;
/** A value of text that is shown as text, not in a grid, although it is on one line. */
const LONG_TEXT = 200;

export function Results({ tab }: { tab: SqlTab }) {
  const runs = tab.runs.value;
  const run = tab.run.value;
  if (!run) return <EmptyState icon="play" title={strings.results.none}><p>{strings.results.noneHelp}</p></EmptyState>;
  return (
    <>
      <div class="result-head">
        {runs.length > 1 && (
          <Tabs
            label={strings.results.list}
            value={run.id}
            views={runs.map((each, at) => ({
              value: each.id,
              label: strings.results.result(at + 1, firstWords(each.text, WORDS_LENGTH)),
              icon: STATE_ICONS[each.state],
              state: strings.results.states[each.state],
              badge: each.result?.columns.length ? formatCount(each.result.total) : undefined,
            }))}
            onChange={(id) => (tab.shownRun.value = id)}
          />
        )}
        {hasEnded(run) && <div class="result-line" role="toolbar" aria-label={strings.results.views}><Views tab={tab} run={run} /><Summary run={run} /></div>}
      </div>
      <div class="outcome"><Outcome key={run.id} tab={tab} run={run} /></div>
    </>
  );
}

function hasEnded(run: Run): boolean {
  return !isRunning(run) && run.state !== "WAITING" && run.state !== "SKIPPED";
}

function Outcome({ tab, run }: { tab: SqlTab; run: Run }) {
  if (isRunning(run)) return <Running run={run} />;
  if (run.state === "WAITING") return <EmptyState icon="clock" title={strings.results.waiting} />;
  if (run.state === "SKIPPED") return <EmptyState icon="stop" title={strings.results.skipped}><p>{strings.results.skippedHelp}</p></EmptyState>;
  if (run.view === "profile") return <ProfileView tab={tab} run={run} />;
  if (run.failure) return <FailurePanel tab={tab} run={run} failure={run.failure} />;
  if (!run.result) return run.info ? <EmptyState icon="lock" title={strings.queries.noRows}><p>{strings.queries.noRowsHelp(run.info.user_name)}</p></EmptyState> : null;
  if (!run.result.columns.length) return <EmptyState icon="success" title={strings.results.done} />;
  if (run.view === "chart") return <Chart result={run.result} settings={tab.chart} />;
  return isOneText(run.result) ? <TextOrRows tab={tab} run={run} result={run.result} /> : <Grid tab={tab} result={run.result} />;
}

function Views({ tab, run }: { tab: SqlTab; run: Run }) {
  const hasRows = (run.result?.columns.length ?? 0) > 0;
  const [aggregates, setAggregates] = useState(false);
  const views: ResultView[] = hasRows ? ["rows", "chart", "profile"] : ["rows", "profile"];
  return (
    <>
      <Tabs label={strings.results.views} value={run.view} views={views.map((view) => (
          view === "rows" && run.failure
            ? { value: view, label: strings.results.error, icon: "error" }
            : { value: view, label: strings.results.view[view], icon: VIEW_ICONS[view] }
        ))} onChange={(view) => (tab.view.value = view)} />
      {hasRows && ["CSV", "Parquet"].map((format) => (
        <a key={format} class="button quiet" download title={strings.results.download(format)} href={api.fileUrl(run.statementId, format.toLowerCase() as "csv" | "parquet")}>
          <Icon name="download" />{format}
        </a>
      ))}
      {hasRows && isQuery(run.text) && <IconButton icon="statistics" label={strings.aggregate.open} onClick={() => setAggregates(true)} />}
      {aggregates && run.result && <AggregateDialog tab={tab} run={run} result={run.result} onClose={() => setAggregates(false)} />}
      <IconButton icon="link" label={strings.queries.copyResultLink} onClick={() => void copyLink("result", run.statementId)} />
    </>
  );
}

function Summary({ run }: { run: Run }) {
  const { profile, result } = run;
  const parts = [];
  if (result?.columns.length) {
    const count = formatCount(result.total);
    parts.push(result.truncated ? strings.results.truncated(count) : strings.results.rows(count, result.total === 1));
  }
  if (profile?.ended_ms) parts.push(formatDuration(profile.ended_ms - profile.created_ms));
  const read = (profile?.reads ?? []).reduce((sum, each) => sum + each.bytes, 0);
  if (read) parts.push(`${formatBytes(read)} read`);
  if (run.state === "CANCELED") parts.push(strings.results.canceled);
  return (
    <>
    {result?.fromCache && <span class="badge cached">{strings.results.fromCache}</span>}
    <span class={result?.truncated ? "summary truncated" : "summary"} role="status">
      {result?.truncated && <Icon name="warning" size={14} />}
      {parts.join(" · ")}
    </span>
    </>
  );
}

function Running({ run }: { run: Run }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, []);
  return <Progress run={run} now={now} />;
}

function isOneText(result: Result): boolean {
  return result.total === 1 && result.columns.length === 1 && result.columns[0]?.type_name === "STRING";
}

/** One value of text: as text if it has several lines, is long, or is a plan. */
function TextOrRows({ tab, run, result }: { tab: SqlTab; run: Run; result: Result }) {
  const [text, setText] = useState<string | null>();
  useEffect(() => {
    result.rows.lines(0, 0, [0]).then(
      ([line]) => setText(line?.[0] ?? null),
      () => setText(null),
    );
  }, [result.rows]);
  if (text === undefined) return null;
  if (text === null || !(/[\r\n]/.test(text) || text.length > LONG_TEXT || /^EXPLAIN\b/i.test(firstWords(run.text, WORDS_LENGTH)))) {
    return <Grid tab={tab} result={result} />;
  }
  return (
    <div class="text-result">
      <Button icon="copy" variant="quiet" onClick={() => void copyWithNotice(text)}>{strings.results.copyText}</Button>
      <pre tabIndex={0} aria-label={strings.results.text}>{text}</pre>
    </div>
  );
}
