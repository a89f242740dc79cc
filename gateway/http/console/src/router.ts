// The URL's fragment names what the active tab shows, so that it can be shared and the browser's Back works:
// `#query/<id>` a saved query, `#table/<catalog>/<schema>/<table>`, `#result/<statement id>`, and pages such as `#activity`.
import { effect } from "@preact/signals";
import { activeTab, openPageTab, openTableTab, isPage, type SqlTab, type Tab } from "./state";

/** A part of the page that opens tabs for routes that begin with its word. */
export type Route = (parts: string[]) => void | Promise<void>;

const routes = new Map<string, Route>();
let shown = "";

/** Adds a route; `open` gets the decoded parts behind the word, and opens or activates a tab. */
export function addRoute(word: string, open: Route): void {
  routes.set(word, open);
}

export function hashOf(tab: Tab | undefined): string {
  switch (tab?.kind) {
    case undefined:
      return "";
    case "sql":
      return tab.queryId.value ? path("query", tab.queryId.value) : resultHash(tab);
    case "missing":
      return tab.hash;
    case "table":
      return path("table", tab.name.catalog, tab.name.schema, tab.name.table);
    case "page":
      return path(tab.page);
  }
}

function resultHash(tab: SqlTab): string {
  const run = tab.isLinked ? tab.run.value : undefined;
  return run?.statementId ? path("result", run.statementId) : "";
}

/** A link to what a fragment names, for another user. */
export function linkTo(...parts: string[]): string {
  return new URL(path(...parts), location.href).href;
}

function path(...parts: string[]): string {
  return `#${parts.map(encodeURIComponent).join("/")}`;
}

/** Opens what the fragment names, and follows the active tab and the browser's history from then on. */
export async function startRouter(): Promise<void> {
  addRoute("table", ([catalog = "", schema = "", table = ""]) => openTableTab({ catalog, schema, table }));
  await follow();
  addEventListener("hashchange", () => void follow());
  effect(() => {
    const next = hashOf(activeTab());
    if (next === shown) return;
    const isFirst = shown === "" && location.hash === "";
    shown = next;
    history[isFirst ? "replaceState" : "pushState"](null, "", next || location.pathname + location.search);
  });
}

async function follow(): Promise<void> {
  if (location.hash === shown) return;
  shown = location.hash;
  const [word = "", ...parts] = location.hash.slice(1).split("/").map(decoded);
  if (isPage(word)) openPageTab(word);
  else await routes.get(word)?.(parts);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a fragment that somebody wrote by hand
  }
}
