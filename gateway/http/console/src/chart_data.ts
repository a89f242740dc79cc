// What a chart draws, from columns of a result; pure.

export type ChartKind = "line" | "area" | "bar" | "scatter" | "histogram" | "pie";
export type Values = (number | string | null)[];

/** Settings of a chart; columns are positions. */
export interface ChartChoice {
  kind: ChartKind;
  x: number;
  y: number[];
  /** The column whose values are the series. */
  group?: number;
  isStacked?: boolean;
  isLog?: boolean;
  title?: string;
}

export interface Series {
  label: string;
  /** Of each point, ascending for lines; undefined with categories. */
  x?: number[];
  values: (number | null)[];
}

export interface ChartData {
  series: Series[];
  categories?: string[];
  isTime: boolean;
  /** Number of values before points were left out. */
  points: number;
  notes: string[];
}

export interface ChartColumns {
  x: Values;
  ys: Values[];
  labels: string[];
  group?: Values;
  xIsTime: boolean;
}

const BARS_MAX = 60;
const BINS_MAX = 50;
const SLICES_MAX = 12;
const SERIES_MAX = 12;
/** Of all series together: more elements make a page slow. */
const POINTS_MAX = 12_000;
const NUMERIC = /^(TINYINT|SMALLINT|INT|BIGINT|BYTE|SHORT|LONG|FLOAT|DOUBLE|DECIMAL)/i;
const TIME = /^(DATE|TIMESTAMP)/i;

export const isNumeric = (type: string): boolean => NUMERIC.test(type);
export const isTime = (type: string): boolean => TIME.test(type);

/** The chart that the types suggest: over time, else by category, else one number against another, else its spread. */
export function suggestChart(types: string[]): ChartChoice | undefined {
  const numbers = types.flatMap((type, at) => (isNumeric(type) ? [at] : []));
  const time = types.findIndex(isTime);
  const text = types.findIndex((type) => /^(STRING|VARCHAR|CHAR|BOOLEAN)/i.test(type));
  const [first, second] = numbers;
  if (first === undefined) return text >= 0 || time >= 0 ? { kind: "bar", x: Math.max(text, time), y: [] } : undefined;
  if (time >= 0) return { kind: "line", x: time, y: numbers.slice(0, 4) };
  if (text >= 0) return { kind: "bar", x: text, y: [numbers.at(-1) as number] };
  return second === undefined ? { kind: "histogram", x: first, y: [] } : { kind: "scatter", x: first, y: [second] };
}

/** The choice with another kind of chart, and columns that it can draw. */
export function withKind(kind: ChartKind, choice: ChartChoice, types: string[]): ChartChoice {
  const numbers = types.flatMap((type, at) => (isNumeric(type) ? [at] : []));
  const canBeX = (at: number) => isNumeric(types[at] ?? "") || isTime(types[at] ?? "");
  if (kind === "histogram") {
    const ofX = isNumeric(types[choice.x] ?? "");
    return { ...choice, kind, x: ofX ? choice.x : (choice.y[0] ?? numbers[0] ?? choice.x) };
  }
  if (kind === "bar" || kind === "pie") return { ...choice, kind };
  const y = choice.y.length ? choice.y : numbers.filter((at) => at !== choice.x).slice(0, 1);
  const times = types.flatMap((type, at) => (isTime(type) ? [at] : []));
  const x = canBeX(choice.x) && !y.includes(choice.x) ? choice.x : ([...times, ...numbers].find((at) => !y.includes(at)) ?? choice.x);
  return { ...choice, kind, x, y };
}

/** Settings as they are saved with a query: columns by name, since positions change with the text. */
export function savedChart(choice: ChartChoice, names: string[]): Record<string, unknown> {
  const name = (at: number | undefined) => (at === undefined ? undefined : names[at]);
  const { kind, x, y, group, isStacked, isLog, title } = choice;
  return JSON.parse(JSON.stringify({ kind, x: name(x), y: y.map(name), group: name(group), isStacked, isLog, title })) as Record<string, unknown>;
}

/** Saved settings for a result with these columns; undefined if they name other columns or are not settings. */
export function restoredChart(saved: unknown, names: string[]): ChartChoice | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const { kind, x, y, group, isStacked, isLog, title } = saved as Record<string, unknown>;
  const at = (name: unknown) => (typeof name === "string" ? names.indexOf(name) : -1);
  const isKind = ["line", "area", "bar", "scatter", "histogram", "pie"].includes(kind as string);
  const ys = Array.isArray(y) ? y.map(at) : [];
  const hasGroup = group !== undefined && group !== null;
  if (!isKind || at(x) < 0 || ys.includes(-1) || (hasGroup && at(group) < 0)) return undefined;
  return {
    kind: kind as ChartKind,
    x: at(x),
    y: ys,
    group: hasGroup ? at(group) : undefined,
    isStacked: isStacked === true,
    isLog: isLog === true,
    title: typeof title === "string" ? title : undefined,
  };
}

export function chartData(kind: ChartKind, columns: ChartColumns): ChartData {
  if (kind === "bar") return bars(columns);
  if (kind === "pie") return pie(columns);
  if (kind === "histogram") return histogram(columns);
  return points(columns, kind === "scatter");
}

/** Texts are drawn in the order of their rows. */
function points(columns: ChartColumns, isScatter: boolean): ChartData {
  const { x, ys, labels, group, xIsTime } = columns;
  const notes: string[] = [];
  const isText = x.some((value) => typeof value === "string");
  if (isText && !group && x.length <= POINTS_MAX) {
    const series = ys.map((values, at) => ({ label: labels[at] ?? "", values: values.map(numberOf) }));
    return { series, categories: x.map((value) => String(value ?? "NULL")), isTime: false, points: x.length, notes };
  }
  if (isText) return bars(columns);
  const known: number[] = [];
  for (let row = 0; row < x.length; row++) if (numberOf(x[row]) !== null) known.push(row);
  if (known.length < x.length) notes.push(`${x.length - known.length} rows without a number on the x axis are left out.`);
  const parts = group ? grouped(known, group, notes) : [];
  const wanted = group
    ? parts.map(([label, rows]) => ({ label, rows, values: ys[0] ?? [] }))
    : ys.map((values, at) => ({ label: labels[at] ?? "", rows: known, values }));
  const limit = Math.floor(POINTS_MAX / Math.max(1, wanted.length));
  let isSampled = false;
  const series = wanted.map(({ label, rows, values }): Series => {
    const shown = rows.length <= limit ? [...rows] : isScatter ? scatterSample(rows, x, values, limit) : lineSample(rows, x, values, limit);
    isSampled ||= rows.length > limit;
    shown.sort((a, b) => (x[a] as number) - (x[b] as number) || a - b);
    return { label, x: shown.map((row) => x[row] as number), values: shown.map((row) => numberOf(values[row])) };
  });
  if (isSampled) notes.push(isScatter ? "Points at nearly the same place are drawn once." : "Of many points, the extreme ones in each interval are drawn.");
  return { series, isTime: xIsTime, points: known.length, notes };
}

/** Rows by the values of a column, in the order of their first rows. */
function grouped(rows: number[], group: Values, notes: string[]): [string, number[]][] {
  const found = new Map<string, number[]>();
  let left = 0;
  for (const row of rows) {
    const label = String(group[row] ?? "NULL");
    const known = found.get(label);
    if (known) known.push(row);
    else if (found.size < SERIES_MAX) found.set(label, [row]);
    else left++;
  }
  if (left) notes.push(`The first ${SERIES_MAX} series are shown; ${left} rows of others are left out.`);
  return [...found];
}

/** The first, last, smallest and largest value in intervals of equal width on the x axis. */
function lineSample(rows: number[], x: Values, values: Values, limit: number): number[] {
  const [low, high] = range(rows, x);
  const count = Math.max(1, Math.floor(limit / 4));
  const scale = high > low ? count / (high - low) : 0;
  const kept = Array.from({ length: count }, () => [-1, -1, -1, -1] as [number, number, number, number]);
  for (const row of rows) {
    const at = x[row] as number;
    const y = numberOf(values[row]);
    const bucket = kept[Math.min(count - 1, Math.floor((at - low) * scale))] as [number, number, number, number];
    if (bucket[0] < 0 || at < (x[bucket[0]] as number)) bucket[0] = row;
    if (bucket[1] < 0 || at >= (x[bucket[1]] as number)) bucket[1] = row;
    if (y === null) continue;
    if (bucket[2] < 0 || y < (values[bucket[2]] as number)) bucket[2] = row;
    if (bucket[3] < 0 || y > (values[bucket[3]] as number)) bucket[3] = row;
  }
  return kept.flatMap((bucket) => [...new Set(bucket)].filter((row) => row >= 0));
}

/** One point in each cell of a raster over the drawn area. */
function scatterSample(rows: number[], x: Values, values: Values, limit: number): number[] {
  const known = rows.filter((row) => numberOf(values[row]) !== null);
  const [lowX, highX] = range(known, x);
  const [lowY, highY] = range(known, values);
  const height = Math.max(1, Math.floor(Math.sqrt(limit / 1.6)));
  const width = Math.max(1, Math.floor(limit / height));
  const taken = new Map<number, number>();
  const place = (value: number, low: number, high: number, count: number) => (high > low ? Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count)) : 0);
  for (const row of known) {
    const cell = place(x[row] as number, lowX, highX, width) * height + place(values[row] as number, lowY, highY, height);
    if (!taken.has(cell)) taken.set(cell, row);
  }
  return [...taken.values()];
}

function range(rows: number[], values: Values): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    const value = values[row] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Sums by category, in the order of their first rows; the number of rows if there is nothing to sum. */
function bars({ x, ys, labels, group, xIsTime }: ChartColumns): ChartData {
  const notes: string[] = [];
  const places = new Map<string, number>();
  const series: Series[] = [];
  const seriesOf = new Map<string, Series>();
  const named = (label: string) => {
    let found = seriesOf.get(label);
    if (!found && series.length < SERIES_MAX + ys.length) {
      found = { label, values: [] };
      seriesOf.set(label, found);
      series.push(found);
    }
    return found;
  };
  if (!group) (ys.length ? labels : ["rows"]).forEach(named);
  let left = 0;
  let leftSeries = 0;
  for (let row = 0; row < x.length; row++) {
    const name = categoryOf(x[row] ?? null, xIsTime);
    let at = places.get(name);
    if (at === undefined) {
      if (places.size >= BARS_MAX) {
        left++;
        continue;
      }
      at = places.size;
      places.set(name, at);
    }
    const targets = group ? [named(String(group[row] ?? "NULL"))] : series;
    targets.forEach((target, number) => {
      if (!target) {
        leftSeries++;
        return;
      }
      const values = ys[number];
      target.values[at] = (target.values[at] ?? 0) + (values ? (numberOf(values[row]) ?? 0) : 1);
    });
  }
  for (const each of series) each.values = Array.from({ length: places.size }, (_, at) => each.values[at] ?? (group ? null : 0));
  if (left) notes.push(`The first ${BARS_MAX} categories are shown; ${left} rows of others are left out.`);
  if (leftSeries) notes.push(`The first ${SERIES_MAX} series are shown; ${leftSeries} rows of others are left out.`);
  return { series, categories: [...places.keys()], isTime: false, points: places.size, notes };
}

/** Sums by category, the largest first; small ones are one slice. */
function pie({ x, ys, labels, xIsTime }: ChartColumns): ChartData {
  const sums = new Map<string, number>();
  const values = ys[0];
  for (let row = 0; row < x.length; row++) {
    const name = categoryOf(x[row] ?? null, xIsTime);
    sums.set(name, (sums.get(name) ?? 0) + (values ? (numberOf(values[row]) ?? 0) : 1));
  }
  const notes: string[] = [];
  const positive = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
  if (positive.length < sums.size) notes.push("Categories without a positive sum are left out.");
  const shown = positive.slice(0, positive.length > SLICES_MAX ? SLICES_MAX - 1 : SLICES_MAX);
  const others = positive.slice(shown.length);
  if (others.length) shown.push([`${others.length} others`, others.reduce((sum, [, each]) => sum + each, 0)]);
  return {
    series: [{ label: values ? (labels[0] ?? "") : "rows", values: shown.map(([, sum]) => sum) }],
    categories: shown.map(([name]) => name),
    isTime: false,
    points: shown.length,
    notes,
  };
}

function histogram({ x, xIsTime }: ChartColumns): ChartData {
  const numbers = x.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  const left = x.length - numbers.length;
  const notes = left ? [`${left} rows without a number are left out.`] : [];
  if (!numbers.length) return { series: [{ label: "rows", x: [], values: [] }], isTime: xIsTime, points: 0, notes };
  const low = numbers.reduce((a, b) => Math.min(a, b));
  const high = numbers.reduce((a, b) => Math.max(a, b));
  const count = high > low ? Math.min(BINS_MAX, Math.ceil(Math.sqrt(numbers.length))) : 1;
  const width = (high - low) / count || 1;
  const bins = new Array<number>(count).fill(0);
  for (const value of numbers) {
    const bin = Math.min(count - 1, Math.floor((value - low) / width));
    bins[bin] = (bins[bin] as number) + 1;
  }
  const middles = bins.map((_, at) => low + (at + (high > low ? 0.5 : 0)) * width);
  return { series: [{ label: "rows", x: middles, values: bins }], isTime: xIsTime, points: count, notes };
}

function categoryOf(value: number | string | null, isTime: boolean): string {
  return value === null ? "NULL" : isTime && typeof value === "number" ? timeText(value) : String(value);
}

function numberOf(value: number | string | null | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A time in seconds as text, without a time of day at midnight. */
export function timeText(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(seconds);
  return date.toISOString().replace(/T00:00:00.000Z$|\.000Z$|Z$/, "").replace("T", " ");
}
