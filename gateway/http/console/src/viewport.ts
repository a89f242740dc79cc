// Which rows a scroll position shows. Browsers end an element at some 16 million pixels, so that a long list is scaled:
// its scroll bar covers all rows, and a wheel still moves by rows.

export const ROW_PX = 26;
const HEIGHT_MAX_PX = 8_000_000;

export class Viewport {
  constructor(
    readonly total: number,
    readonly viewPx: number,
  ) {}

  get heightPx(): number {
    return Math.min(this.total * ROW_PX, HEIGHT_MAX_PX);
  }

  get isScaled(): boolean {
    return this.total * ROW_PX > HEIGHT_MAX_PX;
  }

  /** Rows that fit; the last one may be cut. */
  get shownRows(): number {
    return Math.ceil(this.viewPx / ROW_PX);
  }

  /** The largest first row. */
  get lastFirst(): number {
    return Math.max(0, this.total - Math.floor(this.viewPx / ROW_PX));
  }

  firstAt(scrollPx: number): number {
    if (!this.isScaled) return scrollPx / ROW_PX;
    const span = this.heightPx - this.viewPx;
    return span > 0 ? (Math.min(scrollPx, span) / span) * this.lastFirst : 0;
  }

  scrollAt(first: number): number {
    if (!this.isScaled) return first * ROW_PX;
    return this.lastFirst ? (first / this.lastFirst) * (this.heightPx - this.viewPx) : 0;
  }

  /** `first` moved by so many rows. */
  moved(first: number, rows: number): number {
    return Math.max(0, Math.min(this.lastFirst, first + rows));
  }

  /** The first row from which `row` is seen, as near to `first` as can be. */
  revealing(row: number, first: number): number {
    const fitting = Math.max(1, Math.floor(this.viewPx / ROW_PX));
    if (row < first) return row;
    return row >= first + fitting ? this.moved(row, 1 - fitting) : first;
  }
}
