// Keyboard shortcuts of the whole page, and the dialog that lists them.
import { focusEditor, formatShown, runAll, runShown } from "./editor";
import { tabStep } from "./keys";
import { cancelRun, closeTab } from "./runner";
import { saveTab } from "./saved_queries";
import { activeId, activeTab, isPanelOpen, moveTab, openPageTab, openSqlTab, removeTab, reopenTab, tabs, type ResultView, type Tab } from "./state";
import { strings } from "./strings";
import { Dialog } from "./ui/dialog";

const KEYS: [string, string][] = [
  ["Ctrl-Enter", "run the statement at the cursor, or the selection"],
  ["Ctrl-Shift-Enter", "run all statements"],
  ["Ctrl-.", "cancel"],
  ["Ctrl-Space", "complete"],
  ["Ctrl-/", "comment"],
  ["Ctrl-S, Shift-Alt-F", "save the query, format"],
  ["Alt-Shift-arrows on a tab", "move the tab"],
  ["Alt-N, Alt-W, Alt-T", "open a tab, close it, reopen the last one"],
  ["arrows, Delete on a tab", "go to the next tab, close it"],
  ["Alt-1 … Alt-9", "go to a tab"],
  ["Alt-R, Alt-C, Alt-P", "rows, chart, profile"],
  ["Alt-A, Alt-B", "activity, show or hide the catalog"],
  ["Ctrl-K, then arrows", "filter tables, go through them"],
  ["Enter, Shift-Enter on a table", "show it, put its name into the editor"],
  ["Escape", "back to the editor"],
  ["in rows: arrows, Ctrl-A, Ctrl-C, Enter", "move, select all, copy, show the whole value"],
];
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={strings.shell.keys} onClose={onClose}>
      <table class="keys"><tbody>{KEYS.map(([key, action]) => <tr key={key}><th>{key}</th><td>{action}</td></tr>)}</tbody></table>
    </Dialog>
  );
}

/** Closes a tab and ends its session. */
export function close(tab: Tab): void {
  if (tab.kind === "sql") void closeTab(tab);
  removeTab(tab.id);
}

export function onShortcut(event: KeyboardEvent): void {
  const tab = activeTab();
  const control = event.ctrlKey || event.metaKey;
  const done = () => event.preventDefault();
  if (control && event.key === "Enter" && !event.defaultPrevented) {
    done();
    if (event.shiftKey) runAll();
    else runShown();
  } else if (control && event.key === "." && tab?.kind === "sql") {
    done();
    void cancelRun(tab);
  } else if (control && event.key === "s") {
    done();
    if (tab?.kind === "sql") void saveTab(tab);
  } else if (event.altKey && event.shiftKey && event.code === "KeyF") {
    done();
    if (tab?.kind === "sql") void formatShown();
  } else if (event.altKey && event.shiftKey && tab && (event.target as Element).closest?.(".tab") && /^Arrow(Left|Right)$/.test(event.key)) {
    done();
    moveTab(tab.id, event.key === "ArrowLeft" ? -1 : 1);
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
    else if (event.key === "Delete" && tab && own.closest(".tab.chosen")) close(tab);
    else if (event.key === "Escape") focusEditor();
  } else if (event.key === "Escape" && !(event.target as Element).closest?.(".editor, [role=dialog], [role=menu], [role=listbox]")) {
    focusEditor();
  } else if (event.altKey && !control) {
    const views: Record<string, ResultView> = { r: "rows", c: "chart", p: "profile" };
    const view = views[event.key];
    const other = /^[1-9]$/.test(event.key) ? tabs.value[Number(event.key) - 1] : undefined;
    if (event.key === "n") openSqlTab();
    else if (event.key === "a") openPageTab("activity");
    else if (event.key === "w" && tab) close(tab);
    else if (event.key === "t") reopenTab();
    else if (event.key === "b") isPanelOpen.value = !isPanelOpen.value;
    else if (other) activeId.value = other.id;
    else if (view && tab?.kind === "sql") tab.view.value = view;
    else return;
    done();
  }
}
