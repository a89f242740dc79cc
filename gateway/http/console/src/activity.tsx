// What runs and has run: statements with filters, and sessions; both can be ended by who may.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type QueryRow, type SessionRow } from "./api";
import { copyText } from "./clipboard";
import { formatBytes, formatCount, formatDuration, formatTime } from "./format";
import { Stages } from "./profile";
import { failureOf } from "./runner";
import { isAdministrator, me, openSqlTab } from "./state";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { DataTable, type Column } from "./ui/data_table";
import { confirmed } from "./ui/dialog";
import { Icon, type IconName } from "./ui/icon";
import { EmptyState, Problem } from "./ui/notice";
import { Page } from "./ui/page";
import { Select } from "./ui/select";
import { Tabs } from "./ui/tabs";
import { useLoad } from "./use_load";

const texts = strings.activity;
type Part = "statements" | "sessions";
const PARTS: Part[] = ["statements", "sessions"];
const STATUSES = ["QUEUED", "RUNNING", "FINISHED", "FAILED", "CANCELED"] as const;
const STATUS_ICONS: Record<QueryRow["status"], IconName> = { QUEUED: "clock", RUNNING: "play", FINISHED: "success", FAILED: "error", CANCELED: "stop" };
const HOUR_MS = 3_600_000;
/** The start of the period in milliseconds before now; 0 for all that the server knows. */
const PERIODS = { all: 0, hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS };
type Period = keyof typeof PERIODS;
const REFRESH_MS = 2000;
const TEXT_SHOWN_MAX = 160;

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
    <Page icon="activity" title={texts.parts} intro={isAdministrator() ? texts.intro : texts.introOfUser} class="activity">
      <Tabs label={texts.parts} value={part} views={PARTS.map((value) => ({ value, label: texts.part[value] }))} onChange={setPart} />
      {problem && <Problem>{problem}</Problem>}
      {part === "statements" ? <Statements tick={tick} act={act} /> : <Sessions tick={tick} act={act} />}
    </Page>
  );
}

interface Acting {
  tick: number;
  act: (ending: Promise<unknown>) => void;
}

function Statements({ tick, act }: Acting) {
  const [text, setText] = useState("");
  const [user, setUser] = useState("");
  const [status, setStatus] = useState("");
  const [period, setPeriod] = useState<Period>("all");
  const [shown, setShown] = useState<string>();
  const { value, problem } = useLoad(() => api.queries({ text, user, status }), [tick, text, user, status]);
  const users = useUsers(value?.res);
  const since = period === "all" ? 0 : Date.now() - PERIODS[period];
  const rows = value?.res.filter((row) => row.query_start_time_ms >= since);
  const isFiltered = text !== "" || user !== "" || status !== "" || period !== "all";
  const clear = () => (setText(""), setUser(""), setStatus(""), setPeriod("all"));
  const details = (row: QueryRow) => row.query_id === shown && <Details row={row} />;
  return (
    <>
      <div class="choices">
        <input type="search" placeholder={texts.search} aria-label={texts.search} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        {users.length > 1 && (
          <Select label={texts.user} icon="user" value={user} options={[{ value: "", label: texts.allUsers }, ...users.map((name) => ({ value: name }))]} onChange={setUser} />
        )}
        <Select label={texts.status} value={status} options={[{ value: "", label: texts.allStatuses }, ...STATUSES.map((each) => ({ value: each as string, label: texts.statuses[each] }))]} onChange={setStatus} />
        <Select label={texts.period} icon="clock" value={period} options={(Object.keys(PERIODS) as Period[]).map((each) => ({ value: each, label: texts.periods[each] }))} onChange={setPeriod} />
        {isFiltered && <Button variant="quiet" icon="close" onClick={clear}>{texts.clear}</Button>}
      </div>
      {problem && <Problem>{problem}</Problem>}
      {rows && !rows.length && (
        <EmptyState icon="activity" title={isFiltered ? texts.noMatch : texts.empty}><p>{isFiltered ? texts.noMatchHint : texts.emptyHint}</p></EmptyState>
      )}
      {rows && rows.length > 0 && (
        <DataTable
          label={texts.part.statements}
          rows={rows}
          keyOf={(row) => row.query_id}
          columns={statementColumns(shown, (id) => setShown(shown === id ? undefined : id), act)}
          details={details}
        />
      )}
      {value?.has_next_page && <p class="note">{texts.more(value.res.length)}</p>}
    </>
  );
}

/** All users that were seen since the page was opened, so that a filter does not shorten its own list. */
function useUsers(rows: QueryRow[] | undefined): string[] {
  const [users, setUsers] = useState<string[]>([]);
  const names = [...new Set([...users, ...(rows ?? []).map((row) => row.user_name)])].sort();
  useEffect(() => {
    if (names.length > users.length) setUsers(names);
  }, [names.length]);
  return names;
}

function statementColumns(shown: string | undefined, onShow: (id: string) => void, act: Acting["act"]): Column<QueryRow>[] {
  return [
    { head: texts.started, cell: (row) => formatTime(row.query_start_time_ms) },
    { head: texts.status, cell: (row) => <Status row={row} /> },
    { head: texts.user, class: "short", cell: (row) => <span title={`${row.user_name}\n${row.client_application}`}>{row.user_name}</span> },
    { head: texts.duration, isNumeric: true, cell: (row) => formatDuration(row.duration ?? Math.max(0, Date.now() - row.query_start_time_ms)) },
    { head: texts.rows, isNumeric: true, cell: (row) => formatCount(row.rows_produced) },
    { head: texts.read, isNumeric: true, cell: (row) => (row.metrics.read_bytes ? formatBytes(row.metrics.read_bytes) : "") },
    {
      head: texts.statement,
      isCode: true,
      class: "wide statement",
      cell: (row) => <button type="button" class="text" title={texts.details} aria-expanded={shown === row.query_id} onClick={() => onShow(row.query_id)}>{oneLine(row)}</button>,
    },
    { head: "", cell: (row) => <Actions row={row} act={act} /> },
  ];
}

function Status({ row: { status, error_message } }: { row: QueryRow }) {
  return <span class={`status ${status.toLowerCase()}`} title={error_message}><Icon name={STATUS_ICONS[status]} size={14} />{texts.statuses[status]}</span>;
}

function Actions({ row, act }: { row: QueryRow; act: Acting["act"] }): ComponentChildren {
  if (!row.is_final) return <Button variant="danger" icon="stop" onClick={() => act(api.cancelQuery(row.query_id))}>{strings.common.cancel}</Button>;
  const hasResult = row.status === "FINISHED" && row.rows_produced > 0 && row.user_name === me.value?.userName;
  return (
    <span class="row-actions">
      {hasResult && <a class="button" href={`#result/${row.query_id}`}><Icon name="table" />{texts.result}</a>}
      <Button icon="query" title={texts.openTitle} onClick={() => openSqlTab(row.query_text)}>{texts.open}</Button>
    </span>
  );
}

/** A statement's text, what went wrong, and where its time went. */
function Details({ row }: { row: QueryRow }) {
  const facts = [`id ${row.query_id}`, `session ${row.session_id}`, row.client_application];
  if (row.metrics.pruned_bytes) facts.push(texts.pruned(formatBytes(row.metrics.pruned_bytes)));
  return (
    <>
      {row.error_message && <pre class="failure">{row.error_message}</pre>}
      <div class="statement-box">
        <pre>{row.query_text}</pre>
        <IconButton icon="copy" label={texts.copy} onClick={() => void copyText(row.query_text)} />
      </div>
      <Stages stages={row.stages} />
      <p class="note">{facts.filter(Boolean).join(" · ")}</p>
    </>
  );
}

function Sessions({ tick, act }: Acting) {
  const { value: rows, problem } = useLoad(() => api.sessions(), [tick]);
  const end = async (row: SessionRow) => {
    const isAgreed = !row.running || (await confirmed(texts.endTitle, texts.endText(row.user_name, row.running), texts.end));
    if (isAgreed) act(api.endAnySession(row.session_id));
  };
  const columns: Column<SessionRow>[] = [
    { head: texts.user, cell: (row) => row.user_name },
    { head: texts.interface, cell: (row) => row.interface },
    { head: texts.address, cell: (row) => row.address },
    { head: texts.client, class: "wide client", cell: (row) => <span title={row.client ?? ""}>{row.client ?? ""}</span> },
    { head: texts.opened, cell: (row) => formatTime(row.created_ms) },
    { head: texts.lastUsed, cell: (row) => formatTime(row.last_used_ms) },
    { head: texts.running, isNumeric: true, cell: (row) => formatCount(row.running) },
    { head: "", cell: (row) => <Button variant="danger" onClick={() => void end(row)}>{texts.end}</Button> },
  ];
  return (
    <>
      {problem && <Problem>{problem}</Problem>}
      {rows && !rows.length && <EmptyState icon="connect" title={texts.noSessions}><p>{texts.noSessionsHint}</p></EmptyState>}
      {rows && rows.length > 0 && <DataTable label={texts.part.sessions} columns={columns} rows={rows} keyOf={(row) => row.session_id} />}
    </>
  );
}

function oneLine(row: QueryRow): string {
  const text = row.query_text.replace(/\s+/g, " ").trim();
  return text.length > TEXT_SHOWN_MAX ? `${text.slice(0, TEXT_SHOWN_MAX)}…` : text;
}
