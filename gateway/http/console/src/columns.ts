// Widths and places of the grid's columns, and how cells are displayed; pure.

export const NUMERIC = /^(TINYINT|SMALLINT|INT|BIGINT|BYTE|SHORT|LONG|FLOAT|DOUBLE|DECIMAL)/i;
const CHAR_PX = 7.6;
const PADDING_PX = 22;
/** The sort arrow and the menu button of a header. */
const HEADER_PX = 60;
const WIDTH_MIN = 72;
const WIDTH_MAX = 360;
const FITTED_MAX = 1200;

/** The width for a name, a type and the shown cells of a column. */
export function widthOf(name: string, type: string, cells: (string | null | undefined)[], isFitted = false): number {
  const header = Math.max(name.length * 1.12, type.length * 0.9) * CHAR_PX + HEADER_PX;
  const longest = cells.reduce((most, cell) => Math.max(most, (cell ?? "NULL").length), 0);
  return Math.max(WIDTH_MIN, Math.min(isFitted ? FITTED_MAX : WIDTH_MAX, Math.max(header, longest * CHAR_PX + PADDING_PX)));
}

export function runningSums(widths: number[]): number[] {
  let sum = 0;
  return widths.map((width) => (sum += width));
}

/** The places of the columns between two positions in pixels. */
export function columnsBetween(ends: number[], from: number, to: number): number[] {
  return ends.flatMap((end, at) => (end >= from && (ends[at - 1] ?? 0) <= to ? [at] : []));
}

/** The scroll position, as near to `left` as possible, at which a column is visible. */
export function revealingLeft(ends: number[], at: number, left: number, width: number): number {
  const start = ends[at - 1] ?? 0;
  const end = ends[at] ?? start;
  if (start < left || end - start > width) return start;
  return end > left + width ? end - width : left;
}

/** A row shows one line; Enter shows the whole value, and copies have it. */
export function onOneLine(cell: string): string {
  return cell.replace(/\r\n|[\r\n]/g, "⏎");
}

/** Groups the digits of a number's integral part by commas. */
export function groupedDigits(cell: string): string {
  const found = /^(-?)(\d+)(\.\d+)?$/.exec(cell);
  return found ? `${found[1]}${(found[2] as string).replace(/\B(?=(\d{3})+$)/g, ",")}${found[3] ?? ""}` : cell;
}

/** A value as text that people can read: JSON with line breaks. */
export function pretty(cell: string): string {
  if (!/^[[{]/.test(cell)) return cell;
  try {
    const text = JSON.stringify(JSON.parse(cell), null, 2);
    return /\d{16}/.test(cell) ? cell : text; // longer numbers would not stay what they are
  } catch {
    return cell;
  }
}
