// Saved queries: the list of those that the user may see, and what is done with one of them.
import { computed, signal } from "@preact/signals";
import { ApiError, api, type Parameter, type QueryContent, type SavedQuery, type UnreadableQuery } from "./api";
import { replaceText } from "./editor";
import { failureParts } from "./failure_parts";
import { copyText } from "./clipboard";
import { folderPath, folderPaths } from "./query_tree";
import { linkTo } from "./router";
import { failureOf } from "./runner";
import { me, openMissingTab, openSavedQuery, removeTab, renameTab, tabs, type SqlTab } from "./state";
import { strings } from "./strings";
import { asked, confirmed } from "./ui/dialog";
import { notify } from "./ui/notice";

export type QueryDialog =
  | { kind: "save"; tab: SqlTab }
  | { kind: "share"; query: SavedQuery }
  | { kind: "conflict"; tab: SqlTab; query: SavedQuery };

export const savedQueries = signal<SavedQuery[]>([]);
export const unreadableQueries = signal<UnreadableQuery[]>([]);
/** Why the list is not there; undefined before it was loaded, and empty after. */
export const listProblem = signal<string>();
export const searchText = signal("");
export const queryDialog = signal<QueryDialog>();
/** The user of the page; their queries come first. */
export const userName = computed(() => me.value?.userName ?? "");

export async function loadQueries(): Promise<void> {
  try {
    const found = await api.savedQueries(searchText.value);
    savedQueries.value = found.results;
    unreadableQueries.value = found.unreadable;
    listProblem.value = "";
  } catch (error) {
    listProblem.value = failureParts(failureOf(error)).text;
  }
}

export function ownFolders(): string[] {
  return folderPaths(savedQueries.value.filter(({ owner_user_name: owner }) => owner === userName.value));
}

/** Whether a tab differs from the query that it was opened from or saved to. */
export function hasChanges(tab: SqlTab): boolean {
  const saved = tab.saved.value;
  if (!saved) return false;
  const values = (parameters: Parameter[]) => JSON.stringify(parameters.map(({ name, type, value }) => [name, type, value]).sort());
  return (
    tab.text.value !== saved.query_text ||
    values(tab.parameters.value) !== values(saved.parameters) ||
    JSON.stringify(tab.chart.value ?? null) !== JSON.stringify(saved.chart ?? null)
  );
}

/** Saves a tab to its query. A tab without one, or whose query the user may only view, gets a dialog for a new query. */
export async function saveTab(tab: SqlTab): Promise<void> {
  const saved = tab.saved.value;
  if (!saved || saved.permission === "CAN_VIEW") queryDialog.value = { kind: "save", tab };
  else await overwriteQuery(tab, saved, saved.etag);
}

/** Saves a tab to its query; with `etag` only if nobody has changed the query since. */
export async function overwriteQuery(tab: SqlTab, saved: SavedQuery, etag: string | undefined): Promise<void> {
  try {
    showSaved(tab, await api.changeQuery(saved.id, contentOf(tab), etag));
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) queryDialog.value = { kind: "conflict", tab, query: saved };
    else if (isNotFound(error)) {
      tab.saved.value = undefined;
      queryDialog.value = { kind: "save", tab };
    } else notify(failureParts(failureOf(error)).text);
  }
}

/** Saves a tab as a new query; throws the error of the server. */
export async function saveAs(tab: SqlTab, display_name: string, folder: string, description: string): Promise<void> {
  showSaved(tab, await api.createQuery({ ...contentOf(tab), display_name, description, parent_path: folderPath(folder) }));
}

/** Shows in a tab what the server has of its query. */
export async function reloadTab(tab: SqlTab): Promise<void> {
  const saved = await api.savedQuery(tab.queryId.value ?? "");
  replaceText(tab, saved.query_text);
  tab.parameters.value = saved.parameters;
  tab.chart.value = saved.chart;
  tab.saved.value = saved;
  renameTab(tab.id, saved.display_name);
}

function showSaved(tab: SqlTab, saved: SavedQuery): void {
  tab.saved.value = saved;
  tab.parameters.value = saved.parameters;
  renameTab(tab.id, saved.display_name);
  notify(strings.queries.saved(saved.display_name));
  void loadQueries();
}

function contentOf(tab: SqlTab): Pick<QueryContent, "query_text" | "parameters" | "chart" | "catalog" | "schema"> {
  return {
    query_text: tab.text.value,
    parameters: tab.parameters.value.filter(({ name }) => tab.text.value.includes(name)), // not of what the user removed
    chart: tab.chart.value ?? null,
    catalog: tab.catalog.value ?? null,
    schema: tab.schema.value ?? null,
  };
}

/** Opens a saved query; a link that the user may not follow opens a page that says so. */
export async function openQuery(id: string): Promise<void> {
  try {
    const query = await api.savedQuery(id);
    const tab = openSavedQuery(query);
    if (tab.saved.value?.etag !== query.etag && !hasChanges(tab)) await reloadTab(tab);
  } catch (error) {
    const text = isNotFound(error) ? strings.queries.missingHelp : failureParts(failureOf(error)).text;
    openMissingTab(`#query/${encodeURIComponent(id)}`, strings.queries.missing, text);
  }
}

export async function renameQuery(query: SavedQuery): Promise<void> {
  const name = await asked(strings.queries.rename, strings.queries.name, strings.queries.rename, query.display_name);
  if (name?.trim() && name !== query.display_name) await changeQuery(query, { display_name: name.trim() });
}

export async function moveQuery(query: SavedQuery): Promise<void> {
  const folder = await asked(strings.queries.move, strings.queries.folderHelp, strings.queries.move, query.parent_path);
  if (folder !== undefined && folderPath(folder) !== query.parent_path) await changeQuery(query, { parent_path: folderPath(folder) });
}

async function changeQuery(query: SavedQuery, content: Partial<QueryContent>): Promise<void> {
  await withNotice(async () => {
    const before = await api.savedQuery(query.id);
    const now = await api.changeQuery(query.id, content, before.etag);
    const tab = tabOf(query.id);
    if (!tab) return;
    const saved = tab.saved.value;
    if (saved?.etag === before.etag) tab.saved.value = now; // otherwise its next save finds the conflict
    renameTab(tab.id, now.display_name);
  });
}

/** Saves a copy among the user's own queries, and opens it. */
export async function duplicateQuery(query: SavedQuery): Promise<void> {
  await withNotice(async () => {
    const { query_text, description, parameters, chart, catalog, schema } = await api.savedQuery(query.id);
    const parent_path = query.owner_user_name === userName.value ? query.parent_path : "/";
    const display_name = strings.queries.copyOf(query.display_name);
    openSavedQuery(await api.createQuery({ display_name, parent_path, query_text, description, parameters, chart, catalog, schema }));
  });
}

export async function deleteQuery(query: SavedQuery): Promise<void> {
  if (!(await confirmed(strings.queries.delete, strings.queries.deleteHelp(query.display_name), strings.common.delete))) return;
  await withNotice(async () => {
    await api.deleteQuery(query.id);
    const tab = tabOf(query.id);
    if (tab && hasChanges(tab)) tab.saved.value = undefined; // the text stays
    else if (tab) removeTab(tab.id);
  });
}

export async function deleteUnreadable({ id }: UnreadableQuery): Promise<void> {
  if (!(await confirmed(strings.queries.delete, strings.queries.deleteUnreadableHelp(id), strings.common.delete))) return;
  await withNotice(async () => void (await api.deleteQuery(id)));
}

export async function moveFolder(path: string): Promise<void> {
  const to = await asked(strings.queries.moveFolder, strings.queries.folderHelp, strings.queries.move, path);
  if (to === undefined || folderPath(to) === path) return;
  await withNotice(async () => {
    await api.moveFolder(path, folderPath(to));
    for (const tab of tabs.value) {
      const saved = tab.kind === "sql" ? tab.saved.value : undefined;
      if (tab.kind === "sql" && saved) tab.saved.value = await api.savedQuery(saved.id).catch(() => saved);
    }
  });
}

export async function deleteFolder(path: string, count: number): Promise<void> {
  if (!(await confirmed(strings.queries.deleteFolder, strings.queries.deleteFolderHelp(path, count), strings.common.delete))) return;
  await withNotice(async () => void (await api.deleteFolder(path)));
}

export async function copyLink(...parts: string[]): Promise<void> {
  const link = linkTo(...parts);
  notify((await copyText(link)) ? strings.queries.linkCopied : link);
}

async function withNotice(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    notify(failureParts(failureOf(error)).text);
  }
  await loadQueries();
}

function tabOf(id: string): SqlTab | undefined {
  return tabs.value.find((tab): tab is SqlTab => tab.kind === "sql" && tab.queryId.value === id);
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
