// The tabs, which survive a reload in the browser's storage, and what is shown.
import { effect, signal, type Signal } from "@preact/signals";
import type { Failure, Profile, ResultColumn, StatementState, TableName } from "./api";
import type { RowWindows } from "./rows";

/** A result as the grid needs it; `order` is the position of a column and its direction, as in `0.desc`. */
export interface Result {
  statementId: string;
  columns: ResultColumn[];
  total: number;
  bytes: number;
  truncated: boolean;
  order?: string;
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
}

export interface TableTab {
  kind: "table";
  id: string;
  title: string;
  name: TableName;
}

export interface ActivityTab {
  kind: "activity";
  id: string;
  title: string;
}

export type Tab = SqlTab | TableTab | ActivityTab;
export type ResultView = "rows" | "chart" | "profile";

interface KeptTab {
  kind: Tab["kind"];
  id: string;
  title: string;
  text?: string;
  sessionId?: string;
  run?: { statementId: string; text: string; from: number; startedMs: number };
  name?: TableName;
}

const STORE = "delta-gateway.console.tabs";
const WELCOME = "-- Ctrl-Enter runs the statement at the cursor, or the selection. F1 lists the other keys.\nSHOW TABLES;\n";

export const tabs = signal<Tab[]>([]);
export const activeId = signal("");
export const theme = signal<"system" | "light" | "dark">(readTheme());
export const rowLimit = signal(Number(localStorage.getItem("delta-gateway.console.rows")) || 100_000);

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

export function openActivityTab(): void {
  if (!tabs.value.some((tab) => tab.kind === "activity")) {
    tabs.value = [...tabs.value, { kind: "activity", id: "activity", title: "Activity" }];
  }
  activeId.value = "activity";
}

export function removeTab(id: string): void {
  const at = tabs.value.findIndex((tab) => tab.id === id);
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
  tabs.value = kept.tabs.flatMap((each): Tab[] => {
    if (each.kind === "sql") return [sqlTab(each)];
    if (each.kind === "table" && each.name) return [{ kind: "table", id: each.id, title: each.title, name: each.name }];
    return each.kind === "activity" ? [{ kind: "activity", id: each.id, title: each.title }] : [];
  });
  if (!tabs.value.length) openSqlTab(WELCOME);
  else activeId.value = tabs.value.some((tab) => tab.id === kept.active) ? kept.active : (tabs.value[0] as Tab).id;
  effect(() => {
    const now = JSON.stringify({ active: activeId.value, tabs: tabs.value.map(keptTab) });
    try {
      localStorage.setItem(own, now);
    } catch {
      // full: what was kept before stays
    }
  });
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
  };
}

function keptTab(tab: Tab): KeptTab {
  const { kind, id, title } = tab;
  if (tab.kind === "table") return { kind, id, title, name: tab.name };
  if (tab.kind === "activity") return { kind, id, title };
  const run = tab.run.value;
  return {
    kind,
    id,
    title,
    text: tab.text.value,
    sessionId: tab.sessionId.value,
    run: run?.statementId
      ? { statementId: run.statementId, text: run.text, from: run.from, startedMs: run.startedMs }
      : undefined,
  };
}

function readKept(key: string): { active: string; tabs: KeptTab[] } {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    return { active: String(found.active ?? ""), tabs: Array.isArray(found.tabs) ? found.tabs : [] };
  } catch {
    return { active: "", tabs: [] };
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
