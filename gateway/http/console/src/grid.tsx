// The rows of a result: only visible cells are in the page, and only visible rows are fetched.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ResultColumn } from "./api";
import { api } from "./api";
import { copyText, rowsAsText } from "./clipboard";
import { NUMERIC, columnsBetween, groupedDigits, onOneLine, pretty, revealingLeft, runningSums, widthOf } from "./columns";
import { formatCount } from "./format";
import { FilterDialog, GridBar, StatisticsDialog } from "./grid_parts";
import { failureOf } from "./runner";
import { filterRows, gridState, nextOrder, sortRows, type Condition, type GridState } from "./selection";
import type { Result, SqlTab } from "./state";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { Dialog, confirmed } from "./ui/dialog";
import { Icon } from "./ui/icon";
import { ContextMenu, type Command } from "./ui/menu";
import { EmptyState, Problem, notify } from "./ui/notice";
import { ROW_PX, Viewport } from "./viewport";

const HEADER_PX = 42;
const SAMPLE_ROWS = 50;
/** Longer copies show their progress. */
const QUICK_ROWS = 10_000;
const GROUPED = "delta-gateway.console.grouped";

export const isGrouped = signal(localStorage.getItem(GROUPED) === "true");

/** A row, and the place of a column among the visible ones. */
interface Place {
  row: number;
  column: number;
}

/** What is open over the grid. */
type Opened =
  | { kind: "value"; text: string }
  | { kind: "filter" | "statistics"; column: number }
  | { kind: "menu"; label: string; commands: (Command | null)[]; at: { x: number; y: number } };

interface Copying {
  rows: number;
  total: number;
  abort: AbortController;
}

export function Grid({ result }: { tab?: SqlTab; result: Result }) {
  const state = gridState(result);
  const grid = useGrid(result, state);
  const [opened, setOpened] = useState<Opened>();
  const [problem, setProblem] = useState<string>();
  const { copying, copy, message, setMessage } = useCopies(result, state);
  const { view, top, from, to, places, columns, ends, left, gutter, size, marked, head, select, setHead } = grid;
  const { selection, hidden, widths } = state;
  const { rows, order, conditions, count } = selection.value;
  const nameOf = (column: number) => (result.columns[column] as ResultColumn).name;

  const filter = async (next: Condition[]) => {
    setProblem(undefined);
    await filterRows(result, next);
    grid.reset();
  };
  const addFilter = (condition: Condition) =>
    filter([...conditions.filter((each) => each.column !== condition.column), condition]).catch((error: unknown) => setProblem(failureOf(error).message));
  const sort = (next: string | undefined) => {
    sortRows(result, next);
    grid.reset();
  };
  const hide = (column: number) => (hidden.value = new Set([...hidden.value, column]));
  const fit = (column: number) => {
    const cells = [];
    for (let row = from; row <= to; row++) cells.push(rows.cell(row, column));
    const { name, type_text } = result.columns[column] as ResultColumn;
    widths.value = { ...widths.value, [column]: widthOf(name, type_text, cells, true) };
  };
  const menuOfColumn = (column: number, at: { x: number; y: number }): Opened => ({
    kind: "menu",
    label: strings.grid.columnMenu(nameOf(column)),
    at,
    commands: [
      { label: strings.grid.sortAscending, icon: "ascending", isChosen: order === `${column}.asc`, run: () => sort(`${column}.asc`) },
      { label: strings.grid.sortDescending, icon: "descending", isChosen: order === `${column}.desc`, run: () => sort(`${column}.desc`) },
      { label: strings.grid.unsort, isDisabled: !order, run: () => sort(undefined) },
      null,
      { label: strings.grid.filter, icon: "filter", run: () => setOpened({ kind: "filter", column }) },
      { label: strings.grid.clearFilter, isDisabled: !conditions.some((each) => each.column === column), run: () => void filter(conditions.filter((each) => each.column !== column)) },
      { label: strings.grid.statistics, icon: "statistics", run: () => setOpened({ kind: "statistics", column }) },
      null,
      { label: strings.grid.copyName, icon: "copy", run: () => void copyText(nameOf(column)) },
      { label: strings.grid.copyColumn, icon: "copy", isDisabled: !count, run: () => void copy(0, count - 1, [column], true) },
      null,
      { label: strings.grid.fit, icon: "columns", run: () => fit(column) },
      { label: strings.grid.hide, icon: "hide", isDisabled: columns.length === 1, run: () => hide(column) },
    ],
  });
  const open = async (place: Place) => {
    const [line] = await rows.lines(place.row, place.row, [columns[place.column] as number]);
    setOpened({ kind: "value", text: line?.[0] ?? "NULL" });
  };
  const copyMarked = () => {
    if (!marked) return;
    const copied = columns.slice(marked.left, marked.right + 1);
    void copy(marked.top, marked.bottom, copied, marked.top !== marked.bottom || marked.left !== marked.right);
  };
  const menuOfCell = (place: Place, at: { x: number; y: number }): Opened => {
    const column = columns[place.column] as number;
    const cell = rows.cell(place.row, column);
    const condition: Condition = cell === null || cell === undefined ? { column, operator: "is_null" } : { column, operator: "equals", value: cell };
    return {
      kind: "menu",
      label: strings.grid.value,
      at,
      commands: [
        { label: strings.grid.copy, icon: "copy", keys: "Ctrl-C", run: copyMarked },
        { label: strings.grid.showValue, icon: "show", keys: "Enter", run: () => void open(place) },
        null,
        { label: strings.grid.filterByValue, icon: "filter", run: () => void addFilter(condition) },
        { label: strings.grid.excludeNull, icon: "filter", run: () => void addFilter({ column, operator: "is_not_null" }) },
      ],
    };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key === "c" && marked) {
      event.preventDefault();
      copyMarked();
    } else if (event.key === "Escape" && copying) {
      copying.abort.abort();
    } else if (event.key === "Enter" && !control && head) {
      event.preventDefault();
      void open(head);
    } else if ((event.altKey && event.key === "ArrowDown") || event.key === "ContextMenu" || (event.shiftKey && event.key === "F10")) {
      event.preventDefault();
      const place = head ?? { row: 0, column: 0 };
      const at = grid.positionOf(place);
      if (event.altKey) setOpened(menuOfColumn(columns[place.column] as number, at));
      else if (count) setOpened(menuOfCell(place, at));
    } else {
      grid.onMove(event, control);
    }
  };
  const close = () => {
    setOpened(undefined);
    grid.body.current?.focus();
  };

  const closeMenu = () => {
    setOpened((now) => (now?.kind === "menu" ? undefined : now)); // a command may have opened a dialog
    grid.body.current?.focus();
  };

  const lines = [];
  for (let row = from; row <= to; row++) {
    lines.push(
      <div class="row" role="row" aria-rowindex={row + 2} key={row} style={{ top: `${(row - top) * ROW_PX}px` }}>
        <div class="number" role="rowheader" aria-label={strings.grid.rowNumber(row + 1)} style={{ width: `${gutter}px` }}>{row + 1}</div>
        {places.map((place) => {
          const column = columns[place] as number;
          const cell = rows.cell(row, column);
          const isNumber = NUMERIC.test((result.columns[column] as ResultColumn).type_text);
          const isMarked = marked !== undefined && row >= marked.top && row <= marked.bottom && place >= marked.left && place <= marked.right;
          const isHead = head?.row === row && head.column === place;
          const classes = ["cell", isNumber && "numeric", cell === null && "null", cell === undefined && "loading", isMarked && "marked", isHead && "head-cell"];
          return (
            <div
              key={column}
              id={isHead ? grid.headId : undefined}
              role="gridcell"
              aria-colindex={place + 1}
              aria-selected={isMarked}
              class={classes.filter(Boolean).join(" ")}
              style={{ left: `${gutter + (ends[place - 1] ?? 0) - left}px`, width: `${grid.shownWidths[place]}px` }}
              onMouseDown={(event) => event.button === 0 && select({ row, column: place }, event.shiftKey)}
              onMouseEnter={(event) => event.buttons === 1 && setHead({ row, column: place })}
              onDblClick={() => void open({ row, column: place })}
              onContextMenu={(event) => {
                event.preventDefault();
                if (!isMarked) select({ row, column: place }, false);
                setOpened(menuOfCell({ row, column: place }, { x: event.clientX, y: event.clientY }));
              }}
            >
              {cell === null ? "NULL" : isNumber && isGrouped.value && cell ? groupedDigits(cell) : onOneLine(cell ?? "")}
            </div>
          );
        })}
      </div>,
    );
  }
  const markedCells = marked ? (marked.bottom - marked.top + 1) * (marked.right - marked.left + 1) : 0;
  return (
    <div class="grid">
      <GridBar
        result={result}
        state={state}
        onFilter={(next) => void filter(next)}
        onEdit={(column) => setOpened({ kind: "filter", column })}
        onGroup={() => {
          isGrouped.value = !isGrouped.value;
          localStorage.setItem(GROUPED, String(isGrouped.value));
        }}
        isGrouped={isGrouped.value}
      />
      {problem && <Problem>{problem}</Problem>}
      <div class="grid-space">
        <div
          class="scroller"
          role="grid"
          ref={grid.body}
          tabIndex={0}
          aria-rowcount={count + 1}
          aria-colcount={columns.length}
          aria-label={strings.grid.label}
          aria-multiselectable
          aria-activedescendant={head && head.row >= from && head.row <= to && places.includes(head.column) ? grid.headId : undefined}
          onScroll={grid.onScroll}
          onKeyDown={onKeyDown}
        >
          <div class="extent" style={{ height: `${view.heightPx + HEADER_PX}px`, width: `${gutter + (ends.at(-1) ?? 0)}px` }}>
            <div class="window" style={{ width: `${size.width}px`, height: `${size.height + HEADER_PX}px` }}>
              <div class="header" role="row" aria-rowindex={1}>
                <div class="number" aria-hidden="true" style={{ width: `${gutter}px` }} />
                {places.map((place) => {
                  const column = columns[place] as number;
                  return (
                    <Header
                      key={column}
                      column={result.columns[column] as ResultColumn}
                      place={place}
                      order={order?.startsWith(`${column}.`) ? order.slice(order.indexOf(".") + 1) : undefined}
                      isFiltered={conditions.some((each) => each.column === column)}
                      left={gutter + (ends[place - 1] ?? 0) - left}
                      width={grid.shownWidths[place] as number}
                      onSort={() => sort(nextOrder(order, column))}
                      onMenu={(at) => setOpened(menuOfColumn(column, at))}
                      onResize={(width) => (widths.value = { ...widths.value, [column]: width })}
                      onFit={() => fit(column)}
                    />
                  );
                })}
              </div>
              <div class="rows">{lines}</div>
            </div>
          </div>
        </div>
        {count === 0 && (
          <div class="grid-empty">
            {conditions.length
              ? <EmptyState icon="filter" title={strings.grid.noMatches}><Button onClick={() => void filter([])}>{strings.grid.clearFilters}</Button></EmptyState>
              : <EmptyState icon="table" title={strings.grid.noRows}><p>{strings.grid.noRowsText}</p></EmptyState>}
          </div>
        )}
        {markedCells > 1 && <div class="marked-count">{strings.grid.cells(formatCount(markedCells))}</div>}
      </div>
      <div class="grid-messages" role="status">
        {copying && copying.total > QUICK_ROWS && (
          <p>
            <progress value={copying.rows} max={copying.total} aria-label={strings.grid.copy} />
            {strings.grid.copying(formatCount(copying.rows), formatCount(copying.total))}
            <Button onClick={() => copying.abort.abort()}>{strings.common.cancel}</Button>
          </p>
        )}
        {message && (
          <p>
            <Icon name="warning" />
            {message}
            <a class="button quiet" download href={api.fileUrl(result.statementId, "csv")}><Icon name="download" />{strings.grid.downloadAll}</a>
            <IconButton icon="close" label={strings.grid.dismiss} onClick={() => setMessage(undefined)} />
          </p>
        )}
      </div>
      {opened?.kind === "menu" && <ContextMenu key={`${opened.label}${opened.at.x},${opened.at.y}`} label={opened.label} commands={opened.commands} at={opened.at} onClose={closeMenu} />}
      {opened?.kind === "value" && <Dialog title={strings.grid.value} onClose={close}><pre>{pretty(opened.text)}</pre></Dialog>}
      {opened?.kind === "filter" && (
        <FilterDialog
          column={opened.column}
          type={(result.columns[opened.column] as ResultColumn).type_text}
          name={nameOf(opened.column)}
          condition={conditions.find((each) => each.column === opened.column)}
          onApply={(next) => filter([...conditions.filter((each) => each.column !== opened.column), ...(next ? [next] : [])])}
          onClose={close}
        />
      )}
      {opened?.kind === "statistics" && <StatisticsDialog result={result} column={opened.column} name={nameOf(opened.column)} conditions={conditions} onClose={close} />}
    </div>
  );
}

function Header({ column, place, order, isFiltered, left, width, onSort, onMenu, onResize, onFit }: {
  column: ResultColumn;
  place: number;
  order: string | undefined;
  isFiltered: boolean;
  left: number;
  width: number;
  onSort: () => void;
  onMenu: (at: { x: number; y: number }) => void;
  onResize: (width: number) => void;
  onFit: () => void;
}) {
  const { name, type_text } = column;
  return (
    <div
      role="columnheader"
      class={NUMERIC.test(type_text) ? "head numeric" : "head"}
      aria-colindex={place + 1}
      aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : "none"}
      title={strings.grid.headHint(name, type_text)}
      style={{ left: `${left}px`, width: `${width}px` }}
      onClick={onSort}
      onContextMenu={(event) => {
        event.preventDefault();
        onMenu({ x: event.clientX, y: event.clientY });
      }}
    >
      <span class="head-text">
        <span class="name">{name}</span>
        <span class="type">{type_text.toLowerCase()}</span>
      </span>
      {order && <span class="arrow"><Icon name={order === "asc" ? "ascending" : "descending"} size={14} /></span>}
      {isFiltered && <span class="arrow"><Icon name="filter" size={13} /></span>}
      <IconButton
        icon="more"
        label={strings.grid.columnMenu(name)}
        title=""
        tabIndex={-1}
        class="head-menu"
        onClick={(event) => {
          event.stopPropagation();
          const { left: x, bottom: y } = event.currentTarget.getBoundingClientRect();
          onMenu({ x, y });
        }}
      />
      <span class="edge" onClick={(event) => event.stopPropagation()} onDblClick={onFit} onPointerDown={(event) => drag(event, width, onResize)} />
    </div>
  );
}

/** Scrolling, marked cells, and the rows and columns that are visible. */
function useGrid(result: Result, state: GridState) {
  const body = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 800, height: 300 });
  const [first, setFirst] = useState(0);
  const [left, setLeft] = useState(0);
  const [, setLoads] = useState(0);
  const [anchor, setAnchor] = useState<Place>();
  const [head, setHead] = useState<Place>();
  const { rows, count } = state.selection.value;
  const hidden = state.hidden.value;
  const widths = state.widths.value;
  const columns = useMemo(() => result.columns.flatMap((_, at) => (hidden.has(at) ? [] : [at])), [result, hidden]);
  const view = useMemo(() => new Viewport(count, size.height), [count, size.height]);
  const top = Math.min(first, view.lastFirst);
  const from = Math.floor(top);
  const to = Math.min(count, from + view.shownRows + 1) - 1;
  const hasRows = result.rows.has(0);
  const natural = useMemo(() => result.columns.map((column, at) => widthOf(column.name, column.type_text, firstCells(result, at))), [result, hasRows]);
  const shownWidths = useMemo(() => columns.map((column) => widths[column] ?? (natural[column] as number)), [columns, widths, natural]);
  const ends = useMemo(() => runningSums(shownWidths), [shownWidths]);
  const gutter = 14 + String(count).length * 8;
  const places = columnsBetween(ends, left, left + size.width - gutter);
  const headId = `cell-${result.statementId}`;

  useLayoutEffect(() => {
    const node = body.current as HTMLDivElement;
    const watch = new ResizeObserver(() => setSize({ width: node.clientWidth, height: Math.max(0, node.clientHeight - HEADER_PX) }));
    watch.observe(node);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!count) return;
    let isCurrent = true;
    rows.show(from, to).then(
      () => isCurrent && setLoads((loads) => loads + 1),
      () => undefined, // given up for other rows
    );
    return () => {
      isCurrent = false;
    };
  }, [rows, from, to]);

  const go = (next: number) => {
    const moved = view.moved(next, 0);
    setFirst(moved);
    if (body.current) body.current.scrollTop = view.scrollAt(moved);
  };
  const onScroll = () => {
    const node = body.current as HTMLDivElement;
    setLeft(node.scrollLeft);
    if (Math.abs(view.scrollAt(top) - node.scrollTop) > 1) setFirst(view.firstAt(node.scrollTop));
  };
  useEffect(() => {
    const node = body.current as HTMLDivElement;
    const onWheel = (event: WheelEvent) => {
      if (!view.isScaled || event.ctrlKey || !event.deltaY || event.shiftKey) return;
      event.preventDefault();
      go(top + (event.deltaMode === 1 ? event.deltaY * 3 : event.deltaY / ROW_PX));
    };
    node.addEventListener("wheel", onWheel, { passive: false });
    return () => node.removeEventListener("wheel", onWheel);
  });
  const select = (place: Place, extend: boolean) => {
    setHead(place);
    if (!extend || !anchor) setAnchor(place);
    go(view.revealing(place.row, top));
    const next = revealingLeft(ends, place.column, left, size.width - gutter);
    if (body.current && next !== left) body.current.scrollLeft = next;
  };
  const last = { row: count - 1, column: columns.length - 1 };
  const onMove = (event: KeyboardEvent, control: boolean) => {
    const next = moved(event.key, control, head ?? { row: 0, column: 0 }, last, Math.max(1, view.shownRows - 2));
    if (next && count) {
      event.preventDefault();
      select({ row: clamp(next.row, last.row), column: clamp(next.column, last.column) }, event.shiftKey);
    } else if (control && event.key === "a") {
      event.preventDefault();
      setAnchor({ row: 0, column: 0 });
      setHead(last);
    }
  };
  const reset = () => {
    setAnchor(undefined);
    setHead(undefined);
    go(0);
  };
  const positionOf = (place: Place) => {
    const { left: x, top: y } = (body.current as HTMLDivElement).getBoundingClientRect();
    return { x: x + gutter + (ends[place.column - 1] ?? 0) - left, y: y + HEADER_PX + (clamp(place.row, last.row) - top + 1) * ROW_PX };
  };
  const marked = anchor && head && count ? box(anchor, head, last) : undefined;
  return { body, size, left, columns, view, top, from, to, shownWidths, ends, gutter, places, headId, head, setHead, marked, select, onScroll, onMove, reset, positionOf };
}

/** Copies rows, with progress, and a message if not all of them fit. */
function useCopies(result: Result, state: GridState) {
  const [copying, setCopying] = useState<Copying>();
  const [message, setMessage] = useState<string>();
  const copy = async (first: number, last: number, columns: number[], hasHeader: boolean) => {
    copying?.abort.abort();
    const abort = new AbortController();
    const total = last - first + 1;
    setMessage(undefined);
    setCopying({ rows: 0, total, abort });
    try {
      const header = hasHeader ? columns.map((column) => (result.columns[column] as ResultColumn).name) : undefined;
      const found = await rowsAsText(state.selection.peek().rows, { first, last, columns, header }, (rows) => setCopying({ rows, total, abort }), abort.signal);
      const isCopied = (await copyText(found.text)) || ((await confirmed(strings.grid.copyReady, strings.grid.copyReadyText, strings.grid.copy)) && (await copyText(found.text)));
      if (!isCopied) notify(strings.grid.copyCanceled);
      else if (found.rows < total) setMessage(strings.grid.copiedRows(formatCount(found.rows), formatCount(total)));
      else notify(strings.grid.copied(total === 1 && columns.length === 1 ? strings.grid.value : `${formatCount(total)} ${total === 1 ? "row" : "rows"}`));
    } catch (error) {
      notify(abort.signal.aborted ? strings.grid.copyCanceled : failureOf(error).message);
    } finally {
      setCopying((now) => (now?.abort === abort ? undefined : now));
    }
  };
  return { copying, copy, message, setMessage };
}

function firstCells(result: Result, column: number) {
  return Array.from({ length: Math.min(SAMPLE_ROWS, result.total) }, (_, row) => result.rows.cell(row, column));
}

function moved(key: string, control: boolean, at: Place, last: Place, page: number): Place | undefined {
  switch (key) {
    case "ArrowDown":
      return { ...at, row: control ? last.row : at.row + 1 };
    case "ArrowUp":
      return { ...at, row: control ? 0 : at.row - 1 };
    case "ArrowRight":
      return { ...at, column: control ? last.column : at.column + 1 };
    case "ArrowLeft":
      return { ...at, column: control ? 0 : at.column - 1 };
    case "PageDown":
      return { ...at, row: at.row + page };
    case "PageUp":
      return { ...at, row: at.row - page };
    case "Home":
      return control ? { row: 0, column: 0 } : { ...at, column: 0 };
    case "End":
      return control ? last : { ...at, column: last.column };
    default:
      return undefined;
  }
}

function box(a: Place, b: Place, last: Place) {
  return {
    top: Math.min(a.row, b.row),
    bottom: Math.min(last.row, Math.max(a.row, b.row)),
    left: Math.min(a.column, b.column),
    right: Math.min(last.column, Math.max(a.column, b.column)),
  };
}

function clamp(value: number, last: number): number {
  return Math.max(0, Math.min(last, value));
}

function drag(event: PointerEvent, width: number, resize: (width: number) => void): void {
  event.preventDefault();
  const start = event.clientX;
  const move = (moved: PointerEvent) => resize(Math.max(40, width + moved.clientX - start));
  const stop = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", stop);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", stop);
}
