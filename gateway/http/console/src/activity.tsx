// What runs and has run: statements with search, and sessions; both can be ended by who may.
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type QueryRow } from "./api";
import { formatBytes, formatCount, formatDuration, formatTime } from "./format";
import { Stages } from "./profile";
import { failureOf } from "./runner";
import { openSqlTab } from "./state";
import { strings } from "./strings";
import { Tabs } from "./ui/tabs";
import { useLoad } from "./use_load";

type Part = "statements" | "sessions";
const PARTS: Part[] = ["statements", "sessions"];
const REFRESH_MS = 2000;

export function Activity() {
  const [part, setPart] = useState<Part>("statements");
  const [tick, setTick] = useState(0);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTick((count) => count + 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const act = (ending: Promise<unknown>) =>
    ending.then(
      () => (setProblem(undefined), setTick((count) => count + 1)),
      (error: unknown) => setProblem(failureOf(error).message),
    );
  return (
    <section class="activity">
      <Tabs label={strings.activity.parts} value={part} views={PARTS.map((value) => ({ value, label: strings.activity.part[value] }))} onChange={setPart} />
      {problem && <p class="problem">{problem}</p>}
      {part === "statements" ? <Statements tick={tick} act={act} /> : <Sessions tick={tick} act={act} />}
    </section>
  );
}

interface Acting {
  tick: number;
  act: (ending: Promise<unknown>) => void;
}

function Statements({ tick, act }: Acting) {
  const [text, setText] = useState("");
  const [status, setStatus] = useState("");
  const [shown, setShown] = useState<string>();
  const { value, problem } = useLoad(() => api.queries(text, status || undefined), [tick, text, status]);
  return (
    <>
      <div class="choices">
        <input type="search" placeholder="Search statements" aria-label="Search statements" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <select aria-label="Status" value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
          <option value="">all</option>
          {["QUEUED", "RUNNING", "FINISHED", "FAILED", "CANCELED"].map((each) => <option key={each}>{each}</option>)}
        </select>
      </div>
      {problem && <p class="problem">{problem}</p>}
      <table class="list">
        <thead><tr><th>Begun</th><th>Status</th><th>User</th><th>Time</th><th>Rows</th><th>Read</th><th>Statement</th><th /></tr></thead>
        <tbody>
          {(value?.res ?? []).map((row) => (
            <Fragment key={row.query_id}>
              <tr class={row.status.toLowerCase()}>
                <td>{formatTime(row.query_start_time_ms)}</td>
                <td><span class={`status ${row.status.toLowerCase()}`} title={row.error_message}>{row.status.toLowerCase()}</span></td>
                <td title={row.client_application}>{row.user_name}</td>
                <td class="numeric">{formatDuration(row.duration ?? Math.max(0, Date.now() - row.query_start_time_ms))}</td>
                <td class="numeric">{formatCount(row.rows_produced)}</td>
                <td class="numeric">{row.metrics.read_bytes ? formatBytes(row.metrics.read_bytes) : ""}</td>
                <td class="code statement">
                  <button class="text" title="Details" aria-expanded={shown === row.query_id} onClick={() => setShown(shown === row.query_id ? undefined : row.query_id)}>{oneLine(row)}</button>
                </td>
                <td>
                  {row.is_final
                    ? <button onClick={() => openSqlTab(row.query_text)}>Open</button>
                    : <button class="danger" onClick={() => act(api.cancelQuery(row.query_id))}>Cancel</button>}
                </td>
              </tr>
              {shown === row.query_id && <tr class="details"><td colSpan={8}><Details row={row} /></td></tr>}
            </Fragment>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** A statement's text, what went wrong, and where its time went. */
function Details({ row }: { row: QueryRow }) {
  const said = [`id ${row.query_id}`, `session ${row.session_id}`, row.client_application];
  if (row.metrics.pruned_bytes) said.push(`${formatBytes(row.metrics.pruned_bytes)} left out by pruning`);
  return (
    <>
      {row.error_message && <pre class="failure">{row.error_message}</pre>}
      <pre>{row.query_text}</pre>
      <Stages stages={row.stages} />
      <p class="note">{said.filter(Boolean).join(" · ")}</p>
    </>
  );
}

function Sessions({ tick, act }: Acting) {
  const { value, problem } = useLoad(() => api.sessions(), [tick]);
  return (
    <>
      {problem && <p class="problem">{problem}</p>}
      <table class="list">
        <thead><tr><th>User</th><th>Interface</th><th>Address</th><th>Client</th><th>Opened</th><th>Last used</th><th>Running</th><th /></tr></thead>
        <tbody>
          {(value ?? []).map((row) => (
            <tr key={row.session_id}>
              <td>{row.user_name}</td>
              <td>{row.interface}</td>
              <td>{row.address}</td>
              <td class="statement" title={row.client ?? ""}>{row.client ?? ""}</td>
              <td>{formatTime(row.created_ms)}</td>
              <td>{formatTime(row.last_used_ms)}</td>
              <td class="numeric">{row.running}</td>
              <td><button class="danger" onClick={() => act(api.endAnySession(row.session_id))}>End</button></td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function oneLine(row: QueryRow): string {
  const text = row.query_text.replace(/\s+/g, " ").trim();
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
