// The console: the browser of the catalog at the left, tabs at the right; keys for everything that is done often.
import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Activity } from "./activity";
import { api } from "./api";
import { Browser } from "./browser";
import { Chart } from "./chart";
import { Dialog } from "./dialog";
import { Editor, focusEditor, runShown } from "./editor";
import { formatBytes, formatCount, formatDuration } from "./format";
import { Grid } from "./grid";
import { tabStep } from "./keys";
import { loadNames } from "./names";
import { ProfileView, Progress } from "./profile";
import { cancelRun, closeTab, isRunning, resumeRun } from "./runner";
import {
  activeId,
  activeTab,
  openActivityTab,
  openSqlTab,
  removeTab,
  restoreTabs,
  rowLimit,
  tabs,
  theme,
  type ResultView,
  type Run,
  type SqlTab,
  type Tab,
} from "./state";
import { TableView } from "./table_view";

const KEYS: [string, string][] = [
  ["Ctrl-Enter", "run the statement at the cursor, or the selection"],
  ["Ctrl-.", "cancel"],
  ["Ctrl-Space", "complete"],
  ["Ctrl-/", "comment"],
  ["Alt-N, Alt-W", "open a tab, close it"],
  ["Alt-1 … Alt-9", "go to a tab"],
  ["Alt-R, Alt-C, Alt-P", "rows, chart, profile"],
  ["Alt-A", "activity"],
  ["Ctrl-K, then arrows", "filter tables, go through them"],
  ["Enter, Shift-Enter on a table", "show it, put its name into the editor"],
  ["Escape", "back to the editor"],
  ["in rows: arrows, Ctrl-A, Ctrl-C, Enter", "move, select all, copy, show the whole value"],
];
const ROW_LIMITS = [1000, 10_000, 100_000, 1_000_000, 10_000_000];

function Console({ user }: { user: string }) {
  const [reload, setReload] = useState(0);
  const [help, setHelp] = useState(false);
  useEffect(() => {
    loadNames().catch(() => undefined); // the editor does without
  }, [reload]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "F1") {
        event.preventDefault();
        setHelp((shown) => !shown);
      } else onShortcut(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const tab = activeTab();
  return (
    <div class="console">
      <header class="top">
        <h1>delta-gateway</h1>
        <nav class="tabs" role="tablist" aria-label="Tabs">
          {tabs.value.map((each) => <TabButton key={each.id} tab={each} />)}
        </nav>
        <button class="new" title="New tab (Alt-N)" aria-label="New tab" onClick={() => openSqlTab()}>+</button>
        <button onClick={openActivityTab}>Activity</button>
        <button title="Read the names of the catalog again" onClick={() => setReload((count) => count + 1)}>Refresh</button>
        <select aria-label="Theme" value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as typeof theme.value)}>
          <option value="system">system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
        <a href="connect" title="How to connect other programs">Connect</a>
        <a href="login" class="user" title="Log out">{user}</a>
        <button aria-label="Keys" title="Keys (F1)" onClick={() => setHelp(true)}>?</button>
      </header>
      <Browser reload={reload} />
      <main>
        {tab?.kind === "sql" && <SqlView key={tab.id} tab={tab} />}
        {tab?.kind === "table" && <TableView key={tab.id} tab={tab} />}
        {tab?.kind === "activity" && <Activity />}
      </main>
      {help && (
        <Dialog onClose={() => setHelp(false)}>
          <h2>Keys</h2>
          <table class="keys"><tbody>{KEYS.map(([key, what]) => <tr key={key}><th>{key}</th><td>{what}</td></tr>)}</tbody></table>
        </Dialog>
      )}
    </div>
  );
}

function TabButton({ tab }: { tab: Tab }) {
  const run = tab.kind === "sql" ? tab.run.value : undefined;
  const isActive = activeId.value === tab.id;
  const own = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (isActive) own.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isActive]);
  return (
    <span ref={own} class={isActive ? "tab chosen" : "tab"}>
      <button role="tab" aria-selected={isActive} onClick={() => (activeId.value = tab.id)}>
        {run && isRunning(run) && <span class="dot" />}
        {tab.kind === "table" ? `▦ ${tab.title}` : tab.title}
      </button>
      <button class="close" aria-label={`Close ${tab.title}`} onClick={() => close(tab)}>×</button>
    </span>
  );
}

function close(tab: Tab): void {
  if (tab.kind === "sql") void closeTab(tab);
  removeTab(tab.id);
}

function SqlView({ tab }: { tab: SqlTab }) {
  const run = tab.run.value;
  const busy = run !== undefined && isRunning(run);
  return (
    <section class="sql">
      <Editor tab={tab} />
      <div class="bar-line" role="toolbar" aria-label="Statement">
        {busy
          ? <button class="danger" title="Ctrl-." onClick={() => void cancelRun(tab)}>Cancel</button>
          : <button class="primary" title="Ctrl-Enter" onClick={runShown}>Run</button>}
        <label>
          first{" "}
          <select value={rowLimit.value} onChange={(event) => (rowLimit.value = Number(event.currentTarget.value))}>
            {ROW_LIMITS.map((limit) => <option key={limit} value={limit}>{formatCount(limit)}</option>)}
          </select>{" "}
          rows
        </label>
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
      <span class="views" role="tablist" aria-label="Result">
        {views.map((view) => (
          <button key={view} role="tab" aria-selected={tab.view.value === view} class={tab.view.value === view ? "chosen" : ""} onClick={() => (tab.view.value = view)}>{view}</button>
        ))}
      </span>
      {run.result && run.result.columns.length > 0 && (
        <>
          <a class="button" download href={api.fileUrl(run.result.statementId, "csv")}>CSV</a>
          <a class="button" download href={api.fileUrl(run.result.statementId, "parquet")}>Parquet</a>
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

function onShortcut(event: KeyboardEvent): void {
  const tab = activeTab();
  const control = event.ctrlKey || event.metaKey;
  const done = () => event.preventDefault();
  if (control && event.key === "Enter" && !event.defaultPrevented) {
    done();
    runShown();
  } else if (control && event.key === "." && tab?.kind === "sql") {
    done();
    void cancelRun(tab);
  } else if (control && event.key === "k") {
    done();
    document.getElementById("filter")?.focus();
  } else if ((event.target as Element).getAttribute?.("role") === "tab" && !control && !event.altKey) {
    const own = event.target as HTMLElement;
    const all = [...(own.closest("[role=tablist]")?.querySelectorAll<HTMLElement>("[role=tab]") ?? [])];
    const to = all[tabStep(event.key, all.indexOf(own), all.length) ?? -1];
    to?.click();
    to?.focus();
    if (to) done();
    else if (event.key === "Escape") focusEditor();
  } else if (event.key === "Escape" && !(event.target as Element).closest?.(".editor, dialog")) {
    focusEditor();
  } else if (event.altKey && !control) {
    const views: Record<string, ResultView> = { r: "rows", c: "chart", p: "profile" };
    const view = views[event.key];
    const other = /^[1-9]$/.test(event.key) ? tabs.value[Number(event.key) - 1] : undefined;
    if (event.key === "n") openSqlTab();
    else if (event.key === "a") openActivityTab();
    else if (event.key === "w" && tab) close(tab);
    else if (other) activeId.value = other.id;
    else if (view && tab?.kind === "sql") tab.view.value = view;
    else return;
    done();
  }
}

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("delta-gateway.console.theme", theme.value);
});
effect(() => localStorage.setItem("delta-gateway.console.rows", String(rowLimit.value)));

async function start(): Promise<void> {
  const page = document.getElementById("console") as HTMLElement;
  const me = await api.me().catch(() => undefined);
  if (!me) {
    page.textContent = "The server does not answer. Reload the page to try again.";
    return;
  }
  restoreTabs(me.userName);
  for (const tab of tabs.peek()) if (tab.kind === "sql") void resumeRun(tab);
  render(<Console user={me.userName} />, page);
}

void start();
