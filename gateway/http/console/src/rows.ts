// Rows of a result by position: windows are fetched when they are looked at, and the ones used last are kept.
import { tableFromIPC } from "apache-arrow";

export type Cell = string | null;
/** Rows as an Arrow stream of text, with all columns or those at `columns`; cells are cut after `cut` characters. */
export type FetchWindow = (offset: number, limit: number, signal: AbortSignal, cut?: number, columns?: number[]) => Promise<Uint8Array>;

export const WINDOW_ROWS = 500;
/** Longer cells are cut in what is looked at. */
export const SHOWN_CHARACTERS = 1000;
/** Cells of a request for whole cells, and its largest number of rows. */
const PAGE_CELLS = 100_000;
const PAGE_ROWS_MAX = 10_000;
/** More columns would make a URL too long; they are all fetched instead. */
const NAMED_COLUMNS_MAX = 500;
const KEPT_WINDOWS = 40;

/** A column of cells by position in its window. */
type Column = { get(row: number): Cell };

export class RowWindows {
  private readonly kept = new Map<number, Column[]>();
  private readonly fetching = new Map<number, { done: Promise<Column[]>; abort: AbortController }>();

  constructor(
    readonly total: number,
    private readonly fetch: FetchWindow,
  ) {}

  /** The cell if its window is there; undefined while it is not. */
  cell(row: number, column: number): Cell | undefined {
    return this.kept.get(Math.floor(row / WINDOW_ROWS))?.[column]?.get(row % WINDOW_ROWS);
  }

  has(row: number): boolean {
    return this.kept.has(Math.floor(row / WINDOW_ROWS));
  }

  /** Have the rows from `first` to `last` there; whatever else is on its way is given up. */
  async show(first: number, last: number): Promise<void> {
    const wanted = this.windowsOf(first, last);
    for (const [at, { abort }] of this.fetching) if (!wanted.includes(at)) abort.abort();
    await Promise.all(wanted.map((at) => this.load(at)));
  }

  /** Rows as lines of whole cells. */
  async lines(first: number, last: number, columns: number[]): Promise<Cell[][]> {
    const found: Cell[][] = [];
    for await (const lines of this.pages(first, last, columns)) found.push(...lines);
    return found;
  }

  /** Rows as lines of whole cells, page by page; the next page is fetched while a page is used. */
  async *pages(first: number, last: number, columns: number[], signal = new AbortController().signal): AsyncGenerator<Cell[][]> {
    const end = Math.min(last + 1, this.total);
    const step = Math.max(1, Math.min(PAGE_ROWS_MAX, Math.floor(PAGE_CELLS / Math.max(1, columns.length))));
    const named = columns.length <= NAMED_COLUMNS_MAX ? columns : undefined;
    const fetched = (from: number) => from < end ? this.fetch(from, Math.min(step, end - from), signal, undefined, named) : undefined;
    let next = fetched(first);
    for (let from = first; next; from += step) {
      const found = decodeColumns(await next);
      const page = named ? found : columns.map((column) => found[column] as Column);
      next = fetched(from + step);
      next?.catch(() => undefined); // reported when the page is used
      const count = Math.min(step, end - from);
      yield Array.from({ length: count }, (_, row) => page.map((column) => column.get(row)));
    }
  }

  private windowsOf(first: number, last: number): number[] {
    const found = [];
    const end = Math.floor(Math.min(last, this.total - 1) / WINDOW_ROWS);
    for (let at = Math.floor(Math.max(0, first) / WINDOW_ROWS); at <= end; at++) found.push(at);
    return found;
  }

  private async load(at: number): Promise<Column[]> {
    const known = this.kept.get(at);
    if (known) {
      this.kept.delete(at); // to the end of the order: used last
      this.kept.set(at, known);
      return known;
    }
    const running = this.fetching.get(at);
    if (running && !running.abort.signal.aborted) return running.done;
    const abort = new AbortController();
    const done = this.fetchWindow(at, abort);
    this.fetching.set(at, { done, abort });
    return done;
  }

  private async fetchWindow(at: number, abort: AbortController): Promise<Column[]> {
    try {
      const columns = decodeColumns(await this.fetch(at * WINDOW_ROWS, WINDOW_ROWS, abort.signal, SHOWN_CHARACTERS));
      this.kept.set(at, columns);
      for (const oldest of this.kept.keys()) {
        if (this.kept.size <= KEPT_WINDOWS) break;
        this.kept.delete(oldest);
      }
      return columns;
    } finally {
      if (this.fetching.get(at)?.abort === abort) this.fetching.delete(at);
    }
  }
}

function decodeColumns(stream: Uint8Array): Column[] {
  const table = tableFromIPC(stream);
  return table.schema.fields.map((_, at) => table.getChildAt(at) as unknown as Column);
}

/** The columns of an Arrow stream of numbers; text where a column has no numbers, null for NULL. */
export function decodeNumbers(stream: Uint8Array): (number | string | null)[][] {
  const table = tableFromIPC(stream);
  return table.schema.fields.map((_, at) => Array.from(table.getChildAt(at) as Iterable<number | string | null>));
}

/** Lines of cells as text that spreadsheets take. */
export function asTabbedText(lines: Cell[][]): string {
  const shown = (cell: Cell) => {
    if (cell === null) return "";
    return /[\t\n\r"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  return lines.map((line) => line.map(shown).join("\t")).join("\n");
}
