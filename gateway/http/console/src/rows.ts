// Rows of a result by position: windows are fetched when they are looked at, and the ones used last are kept.
import { tableFromIPC } from "apache-arrow";

export type Cell = string | null;
/** Rows as an Arrow stream of text; cells are cut after so many characters where that is said. */
export type FetchWindow = (offset: number, limit: number, signal: AbortSignal, cut?: number) => Promise<Uint8Array>;

export const WINDOW_ROWS = 500;
/** Longer cells are cut in what is looked at. */
export const SHOWN_CHARACTERS = 1000;
const COPIED_ROWS = 10_000;
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
    const end = Math.min(last + 1, this.total);
    for (let from = first; from < end; from += COPIED_ROWS) {
      const count = Math.min(COPIED_ROWS, end - from);
      const window = decodeColumns(await this.fetch(from, count, new AbortController().signal));
      for (let row = 0; row < count; row++) found.push(columns.map((column) => window[column]?.get(row) ?? null));
    }
    return found;
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
