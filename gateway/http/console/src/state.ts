// The tabs, which survive a reload in the browser's storage, and what is shown.
import { effect, signal, type Signal } from "@preact/signals";
import type { Failure, Me, Profile, ResultColumn, StatementState, TableName } from "./api";
import type { RowWindows } from "./rows";

/** A result; the grid's conditions and order are in `selection.ts`. */
export interface Result {
  statementId: string;
  columns: ResultColumn[];
  total: number;
  bytes: number;
  truncated: boolean;
  rows: RowWindows;
}

/** A run of a statement in a tab; `from` is where in the tab's text it begins. */
export interface Run {
  statementId: string;
  text: string;
  from: number;
  state: StatementState;
  startedMs: number;
  profile?: Profile;
  failure?: Failure;
  result?: Result;
}

export interface SqlTab {
  kind: "sql";
  id: string;
  title: string;
  text: Signal<string>;
  sessionId: Signal<string | undefined>;
  run: Signal<Run | undefined>;
  view: Signal<ResultView>;
  /** The saved query that the tab shows. */
  queryId: Signal<string | undefined>;
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

export type Tab = SqlTab | TableTab | PageTab;
export type ResultView = "rows" | "chart" | "profile";

export interface KeptTab {
  kind: Tab["kind"];
  id: string;
  title: string;
  text?: string;
  sessionId?: string;
  run?: { statementId: string; text: string; from: number; startedMs: number };
  name?: TableName;
  queryId?: string;
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
/** Of the catalog, in pixels. */
export const panelWidth = signal(Number(localStorage.getItem("delta-gateway.console.panel")) || 260);
export const rowLimit = signal(Number(localStorage.getItem("delta-gateway.console.rows")) || 100_000);

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
  const tab = sqlTab({ kind: "sql", id: crypto.randomUUID(), title: title || nextTitle(), text });
  tabs.value = [...tabs.value, tab];
  activeId.value = tab.id;
  return tab;
}

export function openTableTab(name: TableName): void {
  const id = JSON.stringify([name.catalog, name.schema, name.table]);
  if (!tabs.value.some((tab) => tab.id === id)) {
    tabs.value = [...tabs.value, { kind: "table", id, title: name.table, name }];
  }
  activeId.value = id;
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
  const tab = restoredTab({ ...last, sessionId: undefined, run: undefined });
  if (!tab) return;
  if (!tabs.value.some((each) => each.id === tab.id)) tabs.value = [...tabs.value, tab];
  activeId.value = tab.id;
}

export function removeTab(id: string): void {
  const at = tabs.value.findIndex((tab) => tab.id === id);
  const removed = tabs.value[at];
  if (removed && !(removed.kind === "sql" && !removed.text.value.trim())) {
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
  const run: Run | undefined = kept.run && { ...kept.run, state: "PENDING" };
  return {
    kind: "sql",
    id: kept.id,
    title: kept.title,
    text: signal(kept.text ?? ""),
    sessionId: signal(kept.sessionId),
    run: signal(run),
    view: signal<ResultView>("rows"),
    queryId: signal(kept.queryId),
  };
}

function keptTab(tab: Tab): KeptTab {
  const { kind, id, title } = tab;
  if (tab.kind === "table") return { kind, id, title, name: tab.name };
  if (tab.kind === "page") return { kind, id, title, page: tab.page };
  const run = tab.run.value;
  return {
    kind,
    id,
    title,
    text: tab.text.value,
    sessionId: tab.sessionId.value,
    queryId: tab.queryId.value,
    run: run?.statementId
      ? { statementId: run.statementId, text: run.text, from: run.from, startedMs: run.startedMs }
      : undefined,
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
