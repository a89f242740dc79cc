// A tab with SQL: the editor, a toolbar, and the result with its views.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { Chart } from "./chart";
import { Editor, runShown } from "./editor";
import { formatBytes, formatCount, formatDuration } from "./format";
import { Grid } from "./grid";
import { ProfileView, Progress } from "./profile";
import { cancelRun, isRunning } from "./runner";
import { rowLimit, type ResultView, type Run, type SqlTab } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { Icon, type IconName } from "./ui/icon";
import { Select } from "./ui/select";
import { Tabs } from "./ui/tabs";

const ROW_LIMITS = [1000, 10_000, 100_000, 1_000_000, 10_000_000];
const VIEW_ICONS: Record<ResultView, IconName> = { rows: "table", chart: "chart", profile: "plan" };

export function SqlView({ tab }: { tab: SqlTab }) {
  const run = tab.run.value;
  const busy = run !== undefined && isRunning(run);
  return (
    <section class="sql">
      <Editor tab={tab} />
      <div class="bar-line" role="toolbar" aria-label="Statement">
        {busy
          ? <Button variant="danger" icon="stop" title="Ctrl-." onClick={() => void cancelRun(tab)}>{strings.editor.cancel}</Button>
          : <Button variant="primary" icon="play" title="Ctrl-Enter" onClick={runShown}>{strings.editor.run}</Button>}
        <Select
          label={strings.editor.firstRows}
          value={String(rowLimit.value)}
          options={ROW_LIMITS.map((limit) => ({ value: String(limit), label: `${formatCount(limit)} rows` }))}
          onChange={(limit) => (rowLimit.value = Number(limit))}
        />
        {run && !busy && <Views tab={tab} run={run} />}
        {run && <Summary run={run} />}
      </div>
      <div class="outcome">
        {run && busy && <Running run={run} />}
        {run?.failure && !busy && tab.view.value !== "profile" && <pre class="failure" role="alert">{run.failure.message}</pre>}
        {run && !busy && tab.view.value === "profile" && <ProfileView tab={tab} run={run} />}
        {run?.result && !busy && tab.view.value === "chart" && <Chart result={run.result} />}
        {run?.result?.columns.length === 0 && !busy && tab.view.value === "rows" && <p class="empty">Done.</p>}
        {run?.result && run.result.columns.length > 0 && !busy && tab.view.value === "rows" && <Grid key={run.statementId} tab={tab} result={run.result} />}
      </div>
    </section>
  );
}

function Views({ tab, run }: { tab: SqlTab; run: Run }) {
  const views: ResultView[] = run.result?.columns.length ? ["rows", "chart", "profile"] : ["rows", "profile"];
  return (
    <>
      <Tabs label="Result" value={tab.view.value} views={views.map((view) => ({ value: view, label: view, icon: VIEW_ICONS[view] }))} onChange={(view) => (tab.view.value = view)} />
      {run.result && run.result.columns.length > 0 && (
        <>
          <a class="button quiet" download href={api.fileUrl(run.result.statementId, "csv")}><Icon name="download" />CSV</a>
          <a class="button quiet" download href={api.fileUrl(run.result.statementId, "parquet")}><Icon name="download" />Parquet</a>
        </>
      )}
    </>
  );
}

function Summary({ run }: { run: Run }) {
  if (isRunning(run)) return null;
  const profile = run.profile;
  const said = [];
  if (run.result?.columns.length) said.push(`${formatCount(run.result.total)} ${run.result.total === 1 ? "row" : "rows"}${run.result.truncated ? " (more were cut off)" : ""}`);
  if (profile?.ended_ms) said.push(formatDuration(profile.ended_ms - profile.created_ms));
  const read = (profile?.reads ?? []).reduce((sum, each) => sum + each.bytes, 0);
  if (read) said.push(`${formatBytes(read)} read`);
  if (run.state === "CANCELED") said.push("canceled");
  return <span class="summary" role="status">{said.join(" · ")}</span>;
}

function Running({ run }: { run: Run }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, []);
  return <Progress run={run} now={now} />;
}
