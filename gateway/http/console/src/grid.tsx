// The rows of a result: only what is seen is in the page, and only what is looked at is fetched.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ResultColumn } from "./api";
import { formatCount } from "./format";
import { asTabbedText } from "./rows";
import { ordered } from "./runner";
import type { Result, SqlTab } from "./state";
import { Dialog } from "./ui/dialog";
import { ROW_PX, Viewport } from "./viewport";

const NUMERIC = /^(TINYINT|SMALLINT|INT|BIGINT|BYTE|SHORT|LONG|FLOAT|DOUBLE|DECIMAL)/i;
const COPIED_CELLS_MAX = 1_000_000;
const SAMPLE_ROWS = 50;
const CHAR_PX = 7.6;

interface Place {
  row: number;
  column: number;
}

export function Grid({ tab, result }: { tab: SqlTab; result: Result }) {
  const body = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 800, height: 300 });
  const [first, setFirst] = useState(0);
  const [left, setLeft] = useState(0);
  const [, setLoads] = useState(0);
  const [anchor, setAnchor] = useState<Place>();
  const [head, setHead] = useState<Place>();
  const [opened, setOpened] = useState<string>();
  const [resized, setResized] = useState<Record<number, number>>({});
  const view = useMemo(() => new Viewport(result.total, size.height), [result.total, size.height]);
  const top = Math.min(first, view.lastFirst);
  const from = Math.floor(top);
  const to = Math.min(result.total, from + view.shownRows + 1) - 1;
  const hasRows = result.rows.has(0);
  const widths = useMemo(() => columnWidths(result, resized), [result, resized, hasRows]);
  const ends = useMemo(() => runningSums(widths), [widths]);
  const gutter = 14 + String(result.total).length * 8;
  const columns = visibleColumns(ends, left, left + size.width - gutter);

  useLayoutEffect(() => {
    const node = body.current as HTMLDivElement;
    const watch = new ResizeObserver(() => setSize({ width: node.clientWidth, height: node.clientHeight - ROW_PX * 1.6 }));
    watch.observe(node);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    if (!result.total) return;
    let isCurrent = true;
    result.rows.show(from, to).then(
      () => isCurrent && setLoads((count) => count + 1),
      () => undefined, // given up for other rows
    );
    return () => {
      isCurrent = false;
    };
  }, [result.rows, from, to]);

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
  const onWheel = (event: WheelEvent) => {
    if (!view.isScaled || event.ctrlKey || !event.deltaY || event.shiftKey) return;
    event.preventDefault();
    go(top + (event.deltaMode === 1 ? event.deltaY * 3 : event.deltaY / ROW_PX));
  };
  useEffect(() => {
    const node = body.current as HTMLDivElement;
    node.addEventListener("wheel", onWheel, { passive: false });
    return () => node.removeEventListener("wheel", onWheel);
  });

  const select = (place: Place, extend: boolean) => {
    setHead(place);
    if (!extend || !anchor) setAnchor(place);
    go(view.revealing(place.row, top));
  };
  const open = async (place: Place) => {
    const [line] = await result.rows.lines(place.row, place.row, [place.column]);
    setOpened(line?.[0] ?? "NULL");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = head ?? { row: 0, column: 0 };
    const page = Math.max(1, view.shownRows - 2);
    const control = event.ctrlKey || event.metaKey;
    const moves: Record<string, Place> = {
      ArrowDown: { ...at, row: at.row + 1 },
      ArrowUp: { ...at, row: at.row - 1 },
      ArrowRight: { ...at, column: at.column + 1 },
      ArrowLeft: { ...at, column: at.column - 1 },
      PageDown: { ...at, row: at.row + page },
      PageUp: { ...at, row: at.row - page },
      Home: control ? { row: 0, column: 0 } : { ...at, column: 0 },
      End: control ? { row: result.total - 1, column: result.columns.length - 1 } : { ...at, column: result.columns.length - 1 },
    };
    const next = moves[event.key];
    if (next) {
      event.preventDefault();
      const row = clamp(next.row, result.total - 1);
      const column = clamp(next.column, result.columns.length - 1);
      select({ row, column }, event.shiftKey);
    } else if (control && event.key === "a") {
      event.preventDefault();
      setAnchor({ row: 0, column: 0 });
      setHead({ row: result.total - 1, column: result.columns.length - 1 });
    } else if (control && event.key === "c" && head && anchor) {
      event.preventDefault();
      void copyCells(result, box(anchor, head));
    } else if (event.key === "Enter" && !control && head) {
      event.preventDefault();
      void open(head);
    }
  };
  const sortBy = (column: number) => {
    const next = result.order === `${column}.asc` ? `${column}.desc` : result.order === `${column}.desc` ? undefined : `${column}.asc`;
    const run = tab.run.value;
    if (run) tab.run.value = { ...run, result: ordered(result, next) };
    go(0);
  };
  const marked = anchor && head ? box(anchor, head) : undefined;
  const rows = [];
  for (let row = from; row <= to; row++) {
    rows.push(
      <div class="row" role="row" aria-rowindex={row + 2} key={row} style={{ top: `${(row - top) * ROW_PX}px` }}>
        <div class="number" style={{ width: `${gutter}px` }}>{row + 1}</div>
        {columns.map((column) => {
          const cell = result.rows.cell(row, column);
          const classes = ["cell"];
          if (NUMERIC.test((result.columns[column] as ResultColumn).type_text)) classes.push("numeric");
          if (cell === null) classes.push("null");
          if (cell === undefined) classes.push("loading");
          if (marked && row >= marked.top && row <= marked.bottom && column >= marked.left && column <= marked.right) classes.push("marked");
          return (
            <div
              key={column}
              role="gridcell"
              class={classes.join(" ")}
              style={{ left: `${gutter + (ends[column - 1] ?? 0) - left}px`, width: `${widths[column]}px` }}
              onMouseDown={(event) => select({ row, column }, event.shiftKey)}
              onMouseEnter={(event) => event.buttons === 1 && setHead({ row, column })}
              onDblClick={() => void open({ row, column })}
            >
              {cell === null ? "NULL" : onOneLine(cell ?? "")}
            </div>
          );
        })}
      </div>,
    );
  }
  return (
    <div class="grid" role="grid" aria-rowcount={result.total + 1} aria-colcount={result.columns.length} aria-label="Result">
      <div class="scroller" ref={body} tabIndex={0} onScroll={onScroll} onKeyDown={onKeyDown}>
        <div class="extent" style={{ height: `${view.heightPx + ROW_PX * 1.6}px`, width: `${gutter + (ends.at(-1) ?? 0)}px` }}>
          <div class="window" style={{ width: `${size.width}px`, height: `${size.height + ROW_PX * 1.6}px` }}>
            <div class="header" role="row">
              <div class="number" style={{ width: `${gutter}px` }} />
              {columns.map((column) => {
                const { name, type_text } = result.columns[column] as ResultColumn;
                const order = result.order?.startsWith(`${column}.`) ? result.order.split(".")[1] : undefined;
                return (
                  <div
                    key={column}
                    role="columnheader"
                    class="head"
                    aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : "none"}
                    title={`${name}: ${type_text}. A click sorts.`}
                    style={{ left: `${gutter + (ends[column - 1] ?? 0) - left}px`, width: `${widths[column]}px` }}
                    onClick={() => sortBy(column)}
                  >
                    <span class="name">{name}{order && <span class="arrow">{order === "asc" ? " ▲" : " ▼"}</span>}</span>
                    <span class="type">{type_text.toLowerCase()}</span>
                    <span
                      class="edge"
                      onClick={(event) => event.stopPropagation()}
                      onPointerDown={(event) => drag(event, widths[column] as number, (width) => setResized((known) => ({ ...known, [column]: width })))}
                    />
                  </div>
                );
              })}
            </div>
            <div class="rows">{rows}</div>
          </div>
        </div>
      </div>
      {opened !== undefined && (
        <Dialog title="Value" onClose={() => setOpened(undefined)}>
          <pre>{pretty(opened)}</pre>
        </Dialog>
      )}
      {marked && (marked.bottom > marked.top || marked.right > marked.left) && (
        <div class="marked-count">{formatCount((marked.bottom - marked.top + 1) * (marked.right - marked.left + 1))} cells</div>
      )}
    </div>
  );
}

function columnWidths(result: Result, resized: Record<number, number>): number[] {
  return result.columns.map((column, at) => {
    if (resized[at]) return resized[at];
    let characters = Math.max(column.name.length * 1.15 + 2, column.type_text.length);
    for (let row = 0; row < Math.min(SAMPLE_ROWS, result.total); row++) {
      characters = Math.max(characters, (result.rows.cell(row, at) ?? "NULL").length);
    }
    return Math.max(64, Math.min(360, characters * CHAR_PX + 22));
  });
}

function runningSums(widths: number[]): number[] {
  let sum = 0;
  return widths.map((width) => (sum += width));
}

function visibleColumns(ends: number[], from: number, to: number): number[] {
  return ends.flatMap((end, at) => (end >= from && (ends[at - 1] ?? 0) <= to ? [at] : []));
}

function box(a: Place, b: Place) {
  return {
    top: Math.min(a.row, b.row),
    bottom: Math.max(a.row, b.row),
    left: Math.min(a.column, b.column),
    right: Math.max(a.column, b.column),
  };
}

function clamp(value: number, last: number): number {
  return Math.max(0, Math.min(last, value));
}

async function copyCells(result: Result, marked: ReturnType<typeof box>): Promise<void> {
  const columns = Array.from({ length: marked.right - marked.left + 1 }, (_, at) => marked.left + at);
  const last = Math.min(marked.bottom, marked.top + Math.floor(COPIED_CELLS_MAX / columns.length) - 1);
  const lines = await result.rows.lines(marked.top, last, columns);
  const isOne = lines.length === 1 && columns.length === 1;
  const header = isOne ? [] : [columns.map((column) => (result.columns[column] as ResultColumn).name)];
  await copyText(asTabbedText([...header, ...lines]));
}

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // a page without TLS has no clipboard
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
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

/** A row shows one line; Enter shows the whole value, and copies have it. */
function onOneLine(cell: string): string {
  return cell.replace(/\r\n|[\r\n]/g, "⏎");
}

function pretty(cell: string): string {
  if (!/^[[{]/.test(cell)) return cell;
  try {
    const text = JSON.stringify(JSON.parse(cell), null, 2);
    return /\d{16}/.test(cell) ? cell : text; // longer numbers would not stay what they are
  } catch {
    return cell;
  }
}
