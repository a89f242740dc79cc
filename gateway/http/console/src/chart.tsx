// A chart of a result: kind and columns are chosen by the types, and can be changed.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { api } from "./api";
import { chartData, isNumeric, isTime, suggestChart, withKind, type ChartChoice, type ChartData, type ChartKind, type Values } from "./chart_data";
import { formatCount } from "./format";
import { decodeNumbers } from "./rows";
import { failureOf } from "./runner";
import type { Result } from "./state";

const ROWS_MAX = 1_000_000;
const KINDS: ChartKind[] = ["line", "bar", "scatter", "histogram"];
const TIME = "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}";
/** Times at the axis, by the seconds between two of them: a text, and what is below the first one of a year and a day. */
const TIMES = [
  [86_400 * 365, "{YYYY}", null, null],
  [86_400 * 28, "{YYYY}-{MM}", null, null],
  [86_400, "{MM}-{DD}", "\n{YYYY}", null],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}"],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}"],
  [0.001, "{ss}.{fff}", "\n{YYYY}-{MM}-{DD} {HH}:{mm}", "\n{HH}:{mm}"],
].map(([seconds, text, year, day]) => [seconds, text, year, null, day, null, null, null, 1]) as uPlot.Axis.Values;
const COLORS = ["#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#ec4899"];

export function Chart({ result }: { result: Result }) {
  const types = result.columns.map((column) => column.type_text);
  const suggested = useMemo(() => suggestChart(types), [result.statementId]);
  const [choice, setChoice] = useState<ChartChoice | undefined>(suggested);
  const [columns, setColumns] = useState<Map<number, Values>>(new Map());
  const [problem, setProblem] = useState<string>();
  useEffect(() => setChoice(suggested), [suggested]);
  useEffect(() => {
    if (!choice) return;
    const abort = new AbortController();
    const wanted = [...new Set([choice.x, ...choice.y])];
    const load = async () => {
      const query = { offset: 0, limit: ROWS_MAX, columns: wanted.join(","), form: "number" as const };
      const values = decodeNumbers(await api.rows(result.statementId, query, abort.signal));
      setColumns(new Map(wanted.map((column, at) => [column, values[at] as Values])));
      setProblem(undefined);
    };
    load().catch((error: unknown) => abort.signal.aborted || setProblem(failureOf(error).message));
    return () => abort.abort();
  }, [result.statementId, choice]);
  if (!choice || !suggested) return <p class="empty">A chart needs a column of numbers, times or text.</p>;
  const change = (changed: Partial<ChartChoice>) => setChoice({ ...choice, ...changed });
  const numbers = result.columns.flatMap((column, at) => (isNumeric(column.type_text) ? [at] : []));
  const isLoaded = [choice.x, ...choice.y].every((column) => columns.has(column));
  const data = isLoaded
    ? chartData(
        choice,
        columns.get(choice.x) as Values,
        choice.y.map((column) => columns.get(column) as Values),
        choice.y.map((column) => result.columns[column]?.name ?? ""),
        isTime(types[choice.x] as string),
      )
    : undefined;
  const notes = [data?.note, result.total > ROWS_MAX ? `The first ${formatCount(ROWS_MAX)} rows are drawn.` : undefined];
  return (
    <div class="chart">
      <div class="choices" role="toolbar" aria-label="Chart">
        {KINDS.map((kind) => (
          <button key={kind} class={choice.kind === kind ? "chosen" : ""} aria-pressed={choice.kind === kind} onClick={() => setChoice(withKind(kind, choice, types))}>
            {kind}
          </button>
        ))}
        <label>
          {choice.kind === "histogram" ? "of" : "x"}{" "}
          <select value={choice.x} onChange={(event) => change({ x: Number(event.currentTarget.value) })}>
            {result.columns.map((column, at) => <option key={at} value={at}>{column.name}</option>)}
          </select>
        </label>
        {choice.kind !== "histogram" && (
          <fieldset>
            <legend>y</legend>
            {numbers.map((at) => (
              <label key={at}>
                <input
                  type="checkbox"
                  checked={choice.y.includes(at)}
                  onChange={() => change({ y: choice.y.includes(at) ? choice.y.filter((each) => each !== at) : [...choice.y, at] })}
                />
                {result.columns[at]?.name}
              </label>
            ))}
          </fieldset>
        )}
      </div>
      {problem && <p class="problem">{problem}</p>}
      {data && <Plot kind={choice.kind} data={data} title={result.columns[choice.x]?.name ?? ""} />}
      {notes.filter(Boolean).map((note) => <p class="note" key={note}>{note}</p>)}
    </div>
  );
}

function Plot({ kind, data, title }: { kind: ChartKind; data: ChartData; title: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = host.current as HTMLDivElement;
    const colors = getComputedStyle(node);
    const plot = new uPlot(options(kind, data, title, node, colors), [data.x, ...data.series.map((each) => each.values)], node);
    const watch = new ResizeObserver(() => plot.setSize(sizeOf(node)));
    watch.observe(node);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [kind, data, title]);
  return <div class="plot" ref={host} role="img" aria-label={`${kind} chart of ${title}, ${data.x.length} points`} data-points={data.x.length} />;
}

function sizeOf(node: HTMLElement) {
  return { width: Math.max(200, node.clientWidth), height: Math.max(120, node.clientHeight - 34) };
}

function options(kind: ChartKind, data: ChartData, title: string, node: HTMLElement, colors: CSSStyleDeclaration): uPlot.Options {
  const ink = colors.getPropertyValue("--ink").trim();
  const line = colors.getPropertyValue("--line").trim();
  const axis: uPlot.Axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const isBar = kind === "bar" || kind === "histogram";
  const categories = data.categories;
  const x: uPlot.Axis = categories
    ? { ...axis, splits: () => categorySplits(categories.length), values: (_, splits) => splits.map((at) => shortened(categories[at] ?? "")) }
    : data.isTime
      ? { ...axis, values: TIMES }
      : axis;
  return {
    ...sizeOf(node),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"), // values are the session's wall clock
    scales: { x: { time: data.isTime, range: isBar ? padded : undefined }, y: { range: isBar ? withZero : undefined } },
    axes: [{ ...x, label: title, labelSize: 20 }, { ...axis, size: axisWidth }],
    series: [
      { label: title, value: categories ? (_, at) => categories[at] ?? "" : data.isTime ? TIME : undefined },
      ...data.series.map((each, at): uPlot.Series => {
        const stroke = COLORS[at % COLORS.length] as string;
        const bars = isBar && uPlot.paths.bars ? uPlot.paths.bars({ size: [kind === "histogram" ? 0.98 : 0.7, 80] }) : undefined;
        return {
          label: each.label,
          stroke,
          fill: isBar ? `${stroke}b0` : undefined,
          width: kind === "scatter" ? 0 : 1.5,
          paths: kind === "scatter" ? () => null : bars,
          points: { show: kind === "scatter" || (kind === "line" && data.x.length < 100), size: 5, fill: stroke },
        };
      }),
    ],
  };
}

/** Wide enough for the longest label. */
function axisWidth(_: uPlot, labels: string[] | null): number {
  return 24 + 7.2 * Math.max(3, ...(labels ?? []).map((label) => label.length));
}

function padded(plot: uPlot, low: number, high: number): [number, number] {
  const count = plot.data[0].length;
  const step = count > 1 ? (high - low) / (count - 1) : 1;
  return [low - step * 0.7, high + step * 0.7];
}

/** Lengths of bars are compared, so they begin at 0. */
function withZero(_: uPlot, low: number | null, high: number | null): [number, number] {
  const [least, most] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  const margin = (most - least || 1) * 0.05;
  return [least && least - margin, most && most + margin];
}

function categorySplits(count: number): number[] {
  const step = Math.ceil(count / 12);
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}

function shortened(name: string): string {
  return name.length > 14 ? `${name.slice(0, 13)}…` : name;
}
