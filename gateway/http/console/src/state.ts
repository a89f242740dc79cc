// The tabs, which survive a reload in the browser's storage, and what is shown.
import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Failure, Me, Parameter, Profile, QueryRow, ResultColumn, SavedQuery, StatementState, TableName } from "./api";
import type { RowWindows } from "./rows";

/** A result; the grid's conditions and order are in `selection.ts`. */
export interface Result {
  statementId: string;
  columns: ResultColumn[];
  total: number;
  bytes: number;
  truncated: boolean;
  fromCache?: boolean;
  rows: RowWindows;
}

/** Besides the states of the server: before the statements in front of it have ended, and left out after one of them failed. */
export type RunState = StatementState | "WAITING" | "SKIPPED";

/** A run of a statement in a tab; `from` is where in the tab's text it begins. The id is the page's own. */
export interface Run {
  id: string;
  statementId: string;
  text: string;
  from: number;
  state: RunState;
  startedMs: number;
  view: ResultView;
  profile?: Profile;
  failure?: Failure;
  result?: Result;
  /** What the server lists of the statement, for a run that a link names. */
  info?: QueryRow;
}

/** A part of a signal's value, read and written as a signal is. */
export interface Part<T> {
  value: T;
}

export interface SqlTab {
  kind: "sql";
  id: string;
  title: string;
  text: Signal<string>;
  sessionId: Signal<string | undefined>;
  /** What ran last: a statement, or several in their order. */
  runs: Signal<Run[]>;
  /** The id of the run whose result is shown. */
  shownRun: Signal<string>;
  /** The run that is shown; an assignment changes it in `runs`. */
  run: Part<Run | undefined>;
  /** The view of the run that is shown. */
  view: Part<ResultView>;
  /** The saved query that the tab shows, as the server has it. */
  saved: Signal<SavedQuery | undefined>;
  queryId: ReadonlySignal<string | undefined>;
  /** Current catalog and schema of the session; undefined until they are known. */
  catalog: Signal<string | undefined>;
  schema: Signal<string | undefined>;
  /** Values for the parameters of the text, and for those that it had before. */
  parameters: Signal<Parameter[]>;
  /** Settings of the chart as they are saved with the query. */
  chart: Signal<unknown>;
  /** Shows a statement that a link names, without an editor. */
  isLinked: boolean;
}

/** A tab for a link to something that does not exist, or that the user may not see. */
export interface MissingTab {
  kind: "missing";
  id: string;
  title: string;
  hash: string;
  text: string;
}

export interface TableTab {
  kind: "table";
  id: string;
  title: string;
  name: TableName;
}

/** A page that exists once; its word is also its fragment in the URL. */
export interface PageTab {
  kind: "page";
  id: string;
  title: string;
  page: Page;
}

export const PAGES = {
  activity: "Activity",
  grants: "Grants",
  policies: "Policies",
  users: "Users and groups",
  tokens: "Tokens",
} as const;
export type Page = keyof typeof PAGES;

export type Tab = SqlTab | TableTab | PageTab | MissingTab;
export type ResultView = "rows" | "chart" | "profile";

export type KeptRun = Pick<Run, "id" | "statementId" | "text" | "from" | "state" | "startedMs" | "view">;

export interface KeptTab {
  kind: Tab["kind"];
  id: string;
  title: string;
  text?: string;
  sessionId?: string;
  runs?: KeptRun[];
  shownRun?: string;
  name?: TableName;
  saved?: SavedQuery;
  catalog?: string;
  schema?: string;
  parameters?: Parameter[];
  chart?: unknown;
  isLinked?: boolean;
  page?: string;
}

const CLOSED_TABS_MAX = 50;
const STORE = "delta-gateway.console.tabs";
const WELCOME = "-- Ctrl-Enter runs the statement at the cursor, or the selection. F1 lists the other keys.\nSHOW TABLES;\n";

export const tabs = signal<Tab[]>([]);
export const activeId = signal("");
/** Tabs that were closed, the last one last. */
export const closedTabs = signal<KeptTab[]>([]);
export const theme = signal<"system" | "light" | "dark">(readTheme());
/** Whether the catalog is shown; a narrow screen starts without it. */
export const isPanelOpen = signal(!matchMedia("(max-width: 820px)").matches);
export const panelPart = signal<"catalog" | "queries">("catalog");
/** Of the catalog, in pixels. */
export const panelWidth = signal(Number(localStorage.getItem("delta-gateway.console.panel")) || 260);
export const rowLimit = signal(Number(localStorage.getItem("delta-gateway.console.rows")) || 100_000);
/** Whether the other statements of a run follow one that failed. */
export const continuesOnError = signal(localStorage.getItem("delta-gateway.console.continue") === "true");

/** The user whose page this is. */
export const me = signal<Me>();
/** False on a server without authentication, where privileges do not restrict anybody. */
export const hasLogins = document.querySelector<HTMLMetaElement>("meta[name=logins]")?.content !== "no";

export function isAdministrator(): boolean {
  return me.value?.groups.some(({ display }) => display === "admins") ?? false;
}

export function activeTab(): Tab | undefined {
  return tabs.value.find((tab) => tab.id === activeId.value);
}

export function openSqlTab(text = "", title = ""): SqlTab {
  return addTab(sqlTab({ kind: "sql", id: crypto.randomUUID(), title: title || nextTitle(), text }));
}

export function openTableTab(name: TableName): void {
  const id = JSON.stringify([name.catalog, name.schema, name.table]);
  if (!tabs.value.some((tab) => tab.id === id)) {
    tabs.value = [...tabs.value, { kind: "table", id, title: name.table, name }];
  }
  activeId.value = id;
}

/** Opens a tab with a saved query, or activates the one that has it. */
export function openSavedQuery(saved: SavedQuery): SqlTab {
  const known = tabs.value.find((tab): tab is SqlTab => tab.kind === "sql" && tab.queryId.value === saved.id);
  if (known) {
    activeId.value = known.id;
    return known;
  }
  const { display_name: title, query_text: text, parameters, chart } = saved;
  const context = { catalog: saved.catalog ?? undefined, schema: saved.schema ?? undefined };
  return addTab(sqlTab({ kind: "sql", id: crypto.randomUUID(), title, text, saved, parameters, chart, ...context }));
}

/** Opens a tab for a statement that ran elsewhere. */
export function openResultTab(statementId: string, title: string): SqlTab {
  const known = tabs.value.find((tab): tab is SqlTab => tab.kind === "sql" && tab.runs.value.some((run) => run.statementId === statementId));
  if (known) {
    activeId.value = known.id;
    return known;
  }
  const run: KeptRun = { id: statementId, statementId, text: "", from: 0, state: "PENDING", startedMs: Date.now(), view: "rows" };
  return addTab(sqlTab({ kind: "sql", id: crypto.randomUUID(), title, runs: [run], isLinked: true }));
}

export function openMissingTab(hash: string, title: string, text: string): void {
  tabs.value = tabs.value.filter((tab) => tab.id !== hash);
  addTab({ kind: "missing", id: hash, title, hash, text });
}

export function renameTab(id: string, title: string): void {
  tabs.value = tabs.value.map((tab) => (tab.id === id ? { ...tab, title } : tab));
}

/** Moves a tab by so many places, to the left if the number is negative. */
export function moveTab(id: string, step: number): void {
  const at = tabs.value.findIndex((tab) => tab.id === id);
  const to = at + step;
  if (at < 0 || to < 0 || to >= tabs.value.length) return;
  const moved = [...tabs.value];
  moved.splice(to, 0, ...moved.splice(at, 1));
  tabs.value = moved;
}

function addTab<T extends Tab>(tab: T): T {
  tabs.value = [...tabs.value, tab];
  activeId.value = tab.id;
  return tab;
}

export function isPage(word: string): word is Page {
  return Object.hasOwn(PAGES, word);
}

export function openPageTab(page: Page): void {
  if (!tabs.value.some((tab) => tab.id === page)) {
    tabs.value = [...tabs.value, { kind: "page", id: page, title: PAGES[page], page }];
  }
  activeId.value = page;
}

/** Opens the tab that was closed last. */
export function reopenTab(): void {
  const last = closedTabs.value.at(-1);
  if (!last) return;
  closedTabs.value = closedTabs.value.slice(0, -1);
  const tab = restoredTab({ ...last, sessionId: undefined, runs: [] });
  if (!tab) return;
  if (!tabs.value.some((each) => each.id === tab.id)) tabs.value = [...tabs.value, tab];
  activeId.value = tab.id;
}

export function removeTab(id: string): void {
  const at = tabs.value.findIndex((tab) => tab.id === id);
  const removed = tabs.value[at];
  if (removed && removed.kind !== "missing" && !(removed.kind === "sql" && !removed.text.value.trim())) {
    closedTabs.value = [...closedTabs.value, keptTab(removed)].slice(-CLOSED_TABS_MAX);
  }
  const left = tabs.value.filter((tab) => tab.id !== id);
  tabs.value = left;
  if (!left.length) openSqlTab();
  else if (activeId.value === id) activeId.value = (left[Math.min(at, left.length - 1)] as Tab).id;
}

/** The tabs that this user had before; a first one where there were none. What another user left here goes. */
export function restoreTabs(user: string): void {
  const own = `${STORE}.${user}`;
  for (const key of Object.keys(localStorage)) if (key.startsWith(STORE) && key !== own) localStorage.removeItem(key);
  const kept = readKept(own);
  tabs.value = kept.tabs.flatMap((each) => restoredTab(each) ?? []);
  closedTabs.value = kept.closed;
  if (!tabs.value.length) openSqlTab(WELCOME);
  else activeId.value = tabs.value.some((tab) => tab.id === kept.active) ? kept.active : (tabs.value[0] as Tab).id;
  effect(() => {
    const now = JSON.stringify({ active: activeId.value, tabs: tabs.value.map(keptTab), closed: closedTabs.value });
    try {
      localStorage.setItem(own, now);
    } catch {
      // full: what was kept before stays
    }
  });
}

function restoredTab(kept: KeptTab): Tab | undefined {
  const { kind, id, title, name, page = "" } = kept;
  switch (kind) {
    case "sql":
      return sqlTab(kept);
    case "table":
      return name && { kind, id, title, name };
    case "page":
      return isPage(page) ? { kind, id, title, page } : undefined;
    default:
      return undefined; // of another release
  }
}

function sqlTab(kept: KeptTab): SqlTab {
  const runs = signal((kept.runs ?? []).map(restoredRun));
  const shownRun = signal(kept.shownRun ?? "");
  const saved = signal(kept.saved);
  const run = partOf(
    computed(() => runs.value.find(({ id }) => id === shownRun.value) ?? runs.value[0]),
    (changed) => (runs.value = runs.peek().map((each) => (each.id === changed?.id ? changed : each))),
  );
  return {
    kind: "sql",
    id: kept.id,
    title: kept.title,
    text: signal(kept.text ?? ""),
    sessionId: signal(kept.sessionId),
    runs,
    shownRun,
    run,
    view: partOf(
      computed(() => run.value?.view ?? "rows"),
      (view) => run.value && (run.value = { ...run.value, view }),
    ),
    saved,
    queryId: computed(() => saved.value?.id),
    catalog: signal(kept.catalog),
    schema: signal(kept.schema),
    parameters: signal(kept.parameters ?? []),
    chart: signal(kept.chart),
    isLinked: kept.isLinked ?? false,
  };
}

function partOf<T>(whole: { readonly value: T }, change: (value: T) => void): Part<T> {
  return {
    get value() {
      return whole.value;
    },
    set value(value) {
      change(value);
    },
  };
}

/** Statements that the page had not sent yet are not sent after a reload. */
function restoredRun(kept: KeptRun): Run {
  return { ...kept, state: kept.statementId ? "PENDING" : "SKIPPED" };
}

function keptTab(tab: Tab): KeptTab {
  const { kind, id, title } = tab;
  if (tab.kind === "table") return { kind, id, title, name: tab.name };
  if (tab.kind === "page") return { kind, id, title, page: tab.page };
  if (tab.kind === "missing") return { kind, id, title };
  return {
    kind,
    id,
    title,
    text: tab.text.value,
    sessionId: tab.sessionId.value,
    saved: tab.saved.value,
    catalog: tab.catalog.value,
    schema: tab.schema.value,
    parameters: tab.parameters.value,
    chart: tab.chart.value,
    isLinked: tab.isLinked,
    runs: tab.runs.value.map(({ id, statementId, text, from, state, startedMs, view }) => ({ id, statementId, text, from, state, startedMs, view })),
    shownRun: tab.shownRun.value,
  };
}

function readKept(key: string): { active: string; tabs: KeptTab[]; closed: KeptTab[] } {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    const list = (value: unknown): KeptTab[] => (Array.isArray(value) ? value : []);
    return { active: String(found.active ?? ""), tabs: list(found.tabs), closed: list(found.closed) };
  } catch {
    return { active: "", tabs: [], closed: [] };
  }
}

function nextTitle(): string {
  const taken = new Set(tabs.value.map((tab) => tab.title));
  for (let number = 1; ; number++) if (!taken.has(`Query ${number}`)) return `Query ${number}`;
}

function readTheme(): "system" | "light" | "dark" {
  const kept = localStorage.getItem("delta-gateway.console.theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}
