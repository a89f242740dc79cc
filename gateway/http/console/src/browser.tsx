// The tree of the catalog: a filter over it, commands for each object, and why it is empty.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { showGrantsOn } from "./admin/grants_choice";
import type { Kind } from "./admin/statements";
import { catalogVersion } from "./catalog_changes";
import { isEmpty, TreeBuilder, type RowKind, type TreeRow } from "./catalog_rows";
import { catalogStore } from "./catalog_store";
import { copyWithNotice } from "./clipboard";
import { insertText } from "./editor";
import { treeStep } from "./keys";
import { quoted, written } from "./names";
import { hasLogins, isAdministrator, isPanelOpen, openSqlTab, openTableTab } from "./state";
import { strings } from "./strings";
import { Icon, type IconName } from "./ui/icon";
import { ContextMenu, type Command } from "./ui/menu";

const texts = strings.browser;
const COLUMN_SEARCH_MS = 400;
const ICONS: Record<RowKind, IconName | undefined> = {
  catalog: "database", schema: "folder", table: "table", view: "view", column: "columns", functions: "function",
  function: "function", volumes: "volume", volume: "volume", note: undefined, problem: "error",
};
const KINDS: Partial<Record<RowKind, Kind>> = {
  catalog: "CATALOG", schema: "SCHEMA", table: "TABLE", view: "VIEW", function: "FUNCTION", volume: "VOLUME",
};

/** What the user opened or closed, by the key of its row. */
const opened = signal<ReadonlyMap<string, boolean>>(new Map());
const filter = signal("");
/** The row that Tab leads to. */
const focused = signal("");

export function Browser() {
  const slow = useSlow(filter.value);
  const { rows, matches, isCut } = new TreeBuilder(catalogStore, texts, opened.value, filter.value, slow).build();
  const [menu, setMenu] = useState<{ row: TreeRow; x: number; y: number }>();
  const items = rows.filter(({ kind }) => kind !== "note" && kind !== "problem");
  const tabStop = (items.find(({ key }) => key === focused.value) ?? items[0])?.key;
  const isSearching = filter.value.trim() !== "";
  return (
    <div class="browser" onKeyDown={(event) => onKey(event, rows)}>
      <input
        id="filter"
        type="search"
        placeholder={texts.filter}
        aria-label={texts.filterLabel}
        value={filter.value}
        onInput={(event) => (filter.value = event.currentTarget.value)}
      />
      {isSearching && matches === 0 && <p class="note" role="status">{texts.noMatch(filter.value.trim())}</p>}
      {isSearching && isCut && <p class="note">{texts.isCut}</p>}
      {!isSearching && <EmptyCatalog />}
      <div role={tabStop ? "tree" : undefined} aria-label={tabStop && strings.shell.catalog} class="tree">
        {rows.map((row) => (
          <Row key={row.key} row={row} isTabStop={row.key === tabStop} onMenu={(x, y) => setMenu({ row, x, y })} />
        ))}
      </div>
      {menu && <ContextMenu label={texts.commandsOf(menu.row.text)} at={{ x: menu.x, y: menu.y }} commands={commandsOf(menu.row)} onClose={() => setMenu(undefined)} />}
    </div>
  );
}

/** `value`, after it has not changed for a while. */
function useSlow(value: string): string {
  const [slow, setSlow] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(value), COLUMN_SEARCH_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return slow;
}

function EmptyCatalog() {
  if (!isEmpty(catalogStore)) return null;
  if (hasLogins && !isAdministrator()) return <p class="panel-note">{texts.noRights}</p>;
  return <p class="panel-note">{texts.emptyLake} <a href={strings.docs.tables} target="_blank" rel="noreferrer">{texts.howFound}</a></p>;
}

function Row({ row, isTabStop, onMenu }: { row: TreeRow; isTabStop: boolean; onMenu: (x: number, y: number) => void }) {
  const icon = row.kind === "schema" && row.isOpen ? "folderOpen" : ICONS[row.kind];
  if (row.kind === "note" || row.kind === "problem") {
    return <p class={`tree-note ${row.kind}`} style={{ paddingLeft: `${indent(row) + 20}px` }}>{row.text}</p>;
  }
  const hasMenu = commandsOf(row).length > 0;
  return (
    <div
      role="treeitem"
      aria-level={row.level}
      aria-expanded={row.isOpen}
      aria-label={row.text}
      tabIndex={isTabStop ? 0 : -1}
      data-key={row.key}
      class={`tree-row ${row.kind}`}
      style={{ paddingLeft: `${indent(row)}px` }}
      title={[row.parts.join("."), row.detail, row.title].filter(Boolean).join("\n")}
      onFocus={() => (focused.value = row.key)}
      onClick={() => act(row)}
      onContextMenu={(event) => {
        if (!hasMenu) return;
        event.preventDefault();
        const box = event.currentTarget.getBoundingClientRect();
        const isOfKeyboard = event.clientX === 0 && event.clientY === 0;
        onMenu(isOfKeyboard ? box.left + 24 : event.clientX, isOfKeyboard ? box.bottom : event.clientY);
      }}
    >
      <span class="twist" onClick={(event) => row.isOpen !== undefined && (event.stopPropagation(), toggle(row))}>
        {row.isOpen !== undefined && <Icon name={row.isOpen ? "down" : "right"} size={14} />}
      </span>
      {icon && <Icon name={icon} size={14} />}
      <span class="tree-text">{row.text}</span>
      {row.detail && <span class="tree-detail">{row.detail}</span>}
      {hasMenu && (
        <button
          type="button"
          class="row-menu"
          tabIndex={-1}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            const box = event.currentTarget.getBoundingClientRect();
            onMenu(box.left, box.bottom);
          }}
        >
          <Icon name="more" size={14} />
        </button>
      )}
    </div>
  );
}

function indent({ level }: TreeRow): number {
  return (level - 1) * 14 + 2;
}

function toggle(row: TreeRow): void {
  opened.value = new Map(opened.value).set(row.key, !row.isOpen);
}

function act(row: TreeRow): void {
  if (row.kind === "table" || row.kind === "view") openTable(row);
  else if (row.isOpen !== undefined) toggle(row);
  else if (row.kind === "column") insertText(quoted(row.text));
}

function openTable({ parts: [catalog = "", schema = "", table = ""] }: TreeRow): void {
  openTableTab({ catalog, schema, table });
  if (matchMedia("(max-width: 820px)").matches) isPanelOpen.value = false; // it covers the page
}

/** The name as statements write it. */
function nameOf({ kind, parts }: TreeRow): string {
  const [catalog = "", schema = "", table = ""] = parts;
  if (kind === "column") return quoted(parts.at(-1) ?? "");
  if (kind === "volume") return `/Volumes/${parts.join("/")}`;
  const current = catalogStore.catalogs().value?.current;
  return parts.length === 3 ? written({ catalog, schema, table }, current) : parts.map(quoted).join(".");
}

function commandsOf(row: TreeRow): (Command | null)[] {
  const refresh: Command = { label: strings.common.refresh, icon: "refresh", run: () => void catalogVersion.value++ };
  if (row.kind === "functions" || row.kind === "volumes") return [refresh];
  const name = nameOf(row);
  const isTable = row.kind === "table" || row.kind === "view";
  const kind = KINDS[row.kind];
  const open: (Command | null)[] = isTable
    ? [
        { label: texts.open, icon: "open", keys: "Enter", run: () => openTable(row) },
        { label: texts.select, icon: "query", run: () => void openSqlTab(`SELECT *\nFROM ${name}\nLIMIT 1000;\n`, row.text) },
        null,
      ]
    : [];
  return [
    ...open,
    { label: texts.insert, icon: "keyword", keys: "Shift-Enter", run: () => insertText(name) },
    { label: texts.copy, icon: "copy", run: () => void copyWithNotice(name) },
    ...(kind ? [{ label: texts.grants, icon: "grants" as const, run: () => showGrantsOn({ kind, parts: row.parts }) }] : []),
    null,
    refresh,
  ];
}

/** Arrows go through the tree and the filter above it, Enter in the filter opens the first table. */
function onKey(event: KeyboardEvent & { currentTarget: HTMLElement }, all: TreeRow[]): void {
  const rows = all.filter(({ kind }) => kind !== "note" && kind !== "problem");
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=treeitem]")];
  const at = items.indexOf(event.target as HTMLElement);
  const row = rows[at];
  const done = () => event.preventDefault();
  if (event.key === "Enter" || (event.key === " " && row)) {
    const first = rows.find(({ kind }) => kind === "table" || kind === "view");
    if (row && event.shiftKey) insertText(nameOf(row));
    else if (row ?? first) act((row ?? first) as TreeRow);
    return done();
  }
  if (at < 0 && event.key !== "ArrowDown") return;
  const step = treeStep(event.key, at, rows.map(({ isOpen, level }, own) => ({ isOpen, above: aboveOf(rows, own, level) })));
  if (step === undefined) return;
  done();
  if (step === "toggle" && row) toggle(row);
  else if (typeof step === "number") (step < 0 ? document.getElementById("filter") : items[step])?.focus();
}

function aboveOf(rows: TreeRow[], at: number, level: number): number | undefined {
  for (let above = at - 1; above >= 0; above--) if ((rows[above] as TreeRow).level < level) return above;
  return undefined;
}
