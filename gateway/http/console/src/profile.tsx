// What a run did: the time of its stages, the files it read against those of its tables, its log and its plan.
import { useState } from "preact/hooks";
import { api, type Profile, type TableRead } from "./api";
import { formatBytes, formatCount, formatDuration } from "./format";
import { counted } from "./operation_metrics";
import { decodeText } from "./plan_text";
import { PlanView } from "./plan_view";
import { failureOf } from "./runner";
import type { Run, SqlTab } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { EmptyState } from "./ui/notice";

/** One line while it runs: where it is, and how far. */
export function Progress({ run, now }: { run: Run; now: number }) {
  const profile = run.profile;
  const tasks = profile?.tasks;
  const said = [stageText(profile?.stage), formatDuration(Math.max(0, now - run.startedMs))];
  if (profile?.statements_begun) said.unshift(`statement ${formatCount(profile.statements_begun)} of the script`);
  const files = sum(profile?.reads, (read) => read.files);
  if (profile?.reads.length) said.push(`${formatCount(files)} of ${formatCount(sum(profile.reads, (read) => read.files_total))} files`);
  if (tasks?.total) said.push(`${formatCount(tasks.done)} of ${formatCount(tasks.total)} tasks`);
  if (profile?.rows) said.push(`${formatCount(profile.rows)} rows`);
  return (
    <div class="progress" role="status">
      <div class="track" role="progressbar" aria-label={strings.editor.progress} aria-valuemin={0} aria-valuemax={tasks?.total} aria-valuenow={tasks?.done}>
        <div class="bar" style={{ width: `${tasks?.total ? (100 * tasks.done) / tasks.total : 0}%` }} />
      </div>
      <span>{said.join(" · ")}</span>
    </div>
  );
}

const STAGES: Record<string, string> = {
  queue: "queued",
  parse: "parsing",
  bind: "looking up tables",
  authorize: "checking privileges",
  analyze: "analyzing",
  plan: "planning",
  enforce: "planning",
  execute: "running",
  commit: "committing",
  stream: "reading rows",
};

function stageText(stage: string | null | undefined): string {
  return stage ? (STAGES[stage] ?? stage) : "starting";
}

export function ProfileView({ tab, run }: { tab: SqlTab; run: Run }) {
  const [plan, setPlan] = useState<string>();
  const profile = run.profile;
  if (!profile) return <EmptyState icon="plan" title={strings.profile.unknown} />;
  const explain = () => explained(tab, run.text).then(setPlan, (error: unknown) => setPlan(failureOf(error).message));
  return (
    <div class="profile">
      <h3>{strings.profile.time}</h3>
      <Stages stages={profile.stages} />
      <h3>{strings.profile.read}</h3>
      {profile.reads.length ? <Reads reads={profile.reads} /> : <p class="note">{strings.profile.noFiles}</p>}
      <p class="note">
        {counted(profile.rows, "row")}, {formatBytes(profile.result_bytes)}
        {profile.tasks.done > 0 && `; ${counted(profile.tasks.done, "task")} of Spark`}
      </p>
      <h3>{strings.profile.plan}</h3>
      {run.statementId && <PlanView statementId={run.statementId} />}
      {plan === undefined ? <Button icon="file" onClick={explain}>{strings.plan.explain}</Button> : <pre class="plan">{plan}</pre>}
      <h3>{strings.profile.log}</h3>
      <pre>{profile.log.join("\n")}</pre>
    </div>
  );
}

export function Stages({ stages }: { stages: Profile["stages"] }) {
  const total = Math.max(1e-9, sum(stages, (stage) => stage.duration_ms));
  return (
    <table class="stages">
      <tbody>
        {stages.map((stage) => (
          <tr key={stage.name}>
            <th>{stage.name}</th>
            <td class="numeric">{formatDuration(stage.duration_ms)}</td>
            <td class="bar-cell"><div class="bar" style={{ width: `${(100 * stage.duration_ms) / total}%` }} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Reads({ reads }: { reads: TableRead[] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th>Table</th>
          {["Version", "Files", "After partitions", "Of", "Bytes", "Of"].map((name) => <th class="numeric">{name}</th>)}
          <th>Left by pruning</th>
        </tr>
      </thead>
      <tbody>
        {reads.map((read, at) => (
          <tr key={at}>
            <td>{read.table}</td>
            <td class="numeric">{read.version}</td>
            <td class="numeric">{formatCount(read.files)}</td>
            <td class="numeric">{formatCount(read.files_after_partitions)}</td>
            <td class="numeric">{formatCount(read.files_total)}</td>
            <td class="numeric">{formatBytes(read.bytes)}</td>
            <td class="numeric">{formatBytes(read.bytes_total)}</td>
            <td class="bar-cell"><div class="bar" style={{ width: `${(100 * read.bytes) / Math.max(1, read.bytes_total)}%` }} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** EXPLAIN of the statement, in the tab's session. */
async function explained(tab: SqlTab, text: string): Promise<string> {
  const session = tab.sessionId.value;
  if (!session) throw new Error("the session has ended");
  let answer = await api.submit(/^\s*EXPLAIN\b/i.test(text) ? text : `EXPLAIN ${text}`, session, 10_000);
  while (answer.status.state === "PENDING" || answer.status.state === "RUNNING") answer = await api.statement(answer.statement_id, 10);
  try {
    if (answer.status.error) return answer.status.error.message;
    return decodeText(await api.rows(answer.statement_id, { offset: 0, limit: 10_000 }));
  } finally {
    void api.close(answer.statement_id).catch(() => undefined);
  }
}

function sum<T>(items: T[] | undefined, value: (item: T) => number): number {
  return (items ?? []).reduce((total, item) => total + value(item), 0);
}
