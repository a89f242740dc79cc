// Starts the console: the user, the tabs of the last visit, and what the URL names.
import { effect } from "@preact/signals";
import { render } from "preact";
import { api } from "./api";
import { addRoute, startRouter } from "./router";
import { openResult, showLinked } from "./results_link";
import { resumeRuns } from "./runner";
import { openQuery } from "./saved_queries";
import { Shell } from "./shell";
import { continuesOnError, me as currentUser, panelWidth, restoreTabs, rowLimit, tabs, theme } from "./state";
import { strings } from "./strings";

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("delta-gateway.console.theme", theme.value);
});
effect(() => localStorage.setItem("delta-gateway.console.panel", String(panelWidth.value)));
effect(() => localStorage.setItem("delta-gateway.console.rows", String(rowLimit.value)));
effect(() => localStorage.setItem("delta-gateway.console.continue", String(continuesOnError.value)));

async function start(): Promise<void> {
  const page = document.getElementById("console") as HTMLElement;
  const me = await api.me().catch(() => undefined);
  if (!me) {
    page.textContent = strings.common.serverDoesNotAnswer;
    return;
  }
  currentUser.value = me;
  restoreTabs(me.userName);
  for (const tab of tabs.peek()) if (tab.kind === "sql") void (tab.isLinked ? showLinked(tab) : resumeRuns(tab));
  addRoute("query", ([id = ""]) => openQuery(id));
  addRoute("result", ([id = ""]) => openResult(id));
  await startRouter();
  render(<Shell user={me.userName} />, page);
}

void start();
