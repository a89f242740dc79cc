// What a chart draws, from columns of a result.

export type ChartKind = "line" | "bar" | "scatter" | "histogram";
export type Values = (number | string | null)[];

export interface ChartChoice {
  kind: ChartKind;
  x: number;
  y: number[];
}

export interface ChartData {
  /** Of each point: ascending for lines, the number of the category for bars. */
  x: number[];
  series: { label: string; values: (number | null)[] }[];
  /** Names of categories, where x counts them. */
  categories?: string[];
  isTime: boolean;
  /** What the picture leaves out. */
  note?: string;
}

const BARS_MAX = 60;
const BINS_MAX = 50;
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
  if (kind === "bar") return { ...choice, kind };
  const y = choice.y.length ? choice.y : numbers.filter((at) => at !== choice.x).slice(0, 1);
  const times = types.flatMap((type, at) => (isTime(type) ? [at] : []));
  const x = canBeX(choice.x) && !y.includes(choice.x) ? choice.x : ([...times, ...numbers].find((at) => !y.includes(at)) ?? choice.x);
  return { kind, x, y };
}

export function chartData(choice: ChartChoice, x: Values, ys: Values[], labels: string[], xIsTime: boolean): ChartData {
  if (choice.kind === "bar") return bars(x, ys, labels, xIsTime);
  if (choice.kind === "histogram") return histogram(x, xIsTime);
  return points(x, ys, labels, xIsTime);
}

/** Texts are drawn in the order of their rows. */
function points(x: Values, ys: Values[], labels: string[], xIsTime: boolean): ChartData {
  if (x.some((value) => typeof value === "string")) {
    const series = ys.map((values, at) => ({ label: labels[at] ?? "", values: values.map(numberOf) }));
    return { x: x.map((_, row) => row), series, categories: x.map((value) => String(value ?? "NULL")), isTime: false };
  }
  const known = x.flatMap((value, row) => (typeof value === "number" && Number.isFinite(value) ? [row] : []));
  known.sort((a, b) => (x[a] as number) - (x[b] as number));
  const left = x.length - known.length;
  return {
    x: known.map((row) => x[row] as number),
    series: ys.map((values, at) => ({ label: labels[at] ?? "", values: known.map((row) => numberOf(values[row])) })),
    isTime: xIsTime,
    note: left ? `${left} rows without a number on the x axis are left out.` : undefined,
  };
}

/** Sums by category, in the order of their first rows; the number of rows where there is nothing to sum. */
function bars(x: Values, ys: Values[], labels: string[], xIsTime: boolean): ChartData {
  const places = new Map<string, number>();
  const sums: number[][] = (ys.length ? ys : [x]).map(() => []);
  let left = 0;
  x.forEach((value, row) => {
    const name = value === null ? "NULL" : xIsTime && typeof value === "number" ? dayOf(value) : String(value);
    let at = places.get(name);
    if (at === undefined) {
      if (places.size >= BARS_MAX) {
        left++;
        return;
      }
      at = places.size;
      places.set(name, at);
    }
    sums.forEach((sum, series) => {
      const values = ys[series];
      sum[at as number] = (sum[at as number] ?? 0) + (values ? (numberOf(values[row]) ?? 0) : 1);
    });
  });
  return {
    x: [...places.values()],
    series: sums.map((values, at) => ({ label: ys.length ? (labels[at] ?? "") : "rows", values })),
    categories: [...places.keys()],
    isTime: false,
    note: left ? `The first ${BARS_MAX} categories are shown; ${left} rows of others are left out.` : undefined,
  };
}

function histogram(x: Values, xIsTime: boolean): ChartData {
  const numbers = x.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  const left = x.length - numbers.length;
  const note = left ? `${left} rows without a number are left out.` : undefined;
  if (!numbers.length) return { x: [], series: [{ label: "rows", values: [] }], isTime: xIsTime, note };
  const low = numbers.reduce((a, b) => Math.min(a, b));
  const high = numbers.reduce((a, b) => Math.max(a, b));
  const count = high > low ? Math.min(BINS_MAX, Math.ceil(Math.sqrt(numbers.length))) : 1;
  const width = (high - low) / count || 1;
  const bins = new Array<number>(count).fill(0);
  for (const value of numbers) {
    const bin = Math.min(count - 1, Math.floor((value - low) / width));
    bins[bin] = (bins[bin] as number) + 1;
  }
  return {
    x: bins.map((_, at) => low + (at + (high > low ? 0.5 : 0)) * width),
    series: [{ label: "rows", values: bins }],
    isTime: xIsTime,
    note,
  };
}

function numberOf(value: number | string | null | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/T00:00:00.000Z$|\.000Z$/, "").replace("T", " ");
}
