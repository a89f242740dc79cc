// A chart of a result: kind and columns are chosen by the types, and can be changed.
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "./api";
import { chartData, isNumeric, isTime, restoredChart, savedChart, suggestChart, timeText, withKind, type ChartChoice, type ChartData, type ChartKind, type Values } from "./chart_data";
import type { Colors, Drawing } from "./chart_engine";
import { formatCount } from "./format";
import { decodeNumbers } from "./rows";
import { failureOf } from "./runner";
import { filterText, gridState } from "./selection";
import { theme, type Result } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { Icon } from "./ui/icon";
import { Menu } from "./ui/menu";
import { useShown } from "./ui/more";
import { EmptyState, Problem } from "./ui/notice";
import { Select } from "./ui/select";

const ROWS_MAX = 1_000_000;
const KINDS: ChartKind[] = ["line", "area", "bar", "scatter", "histogram", "pie"];
const NO_GROUP = "-1";
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/** Charts of results whose statement has no saved settings, by statement. */
const choices = new Map<string, ChartChoice>();

/** `settings` are saved with the query: a JSON object (`savedChart`), or undefined. */
export function Chart({ result, settings }: { result: Result; settings?: Signal<unknown> }) {
  const types = result.columns.map((column) => column.type_text);
  const names = result.columns.map((column) => column.name);
  const [choice, setChoice] = useState(() => choices.get(result.statementId) ?? restoredChart(settings?.peek(), names) ?? suggestChart(types));
  const [isTable, setTable] = useState(false);
  const { data, problem } = useChartData(result, choice, types, names);
  if (!choice) return <EmptyState icon="chart" title={strings.chart.noColumns}><p>{strings.chart.noColumnsText}</p></EmptyState>;
  const change = (changed: ChartChoice) => {
    setChoice(changed);
    choices.set(result.statementId, changed);
    if (settings) settings.value = savedChart(changed, names);
  };
  const conditions = gridState(result).selection.value.conditions;
  const count = gridState(result).selection.value.count;
  const notes = [
    ...(data?.notes ?? []),
    count > ROWS_MAX && strings.chart.firstRows(formatCount(ROWS_MAX)),
    conditions.length > 0 && strings.chart.filtered,
    choice.isLog && data?.series.some((each) => each.values.some((value) => value !== null && value <= 0)) && strings.chart.logLeavesOut,
  ].filter(Boolean);
  return (
    <div class="chart">
      <Controls choice={choice} names={names} types={types} onChange={change} />
      {problem && <Problem>{problem}</Problem>}
      {!data && !problem && <p class="note" role="status">{strings.common.loading}</p>}
      {data && (isTable
        ? <DataTable data={data} xName={names[choice.x] ?? ""} />
        : <Plot choice={choice} data={data} xName={names[choice.x] ?? ""} onTable={() => setTable(true)} />)}
      {data && isTable && <Button icon="chart" onClick={() => setTable(false)}>{strings.chart.asChart}</Button>}
      {notes.map((note) => <p class="note" key={String(note)}>{note}</p>)}
    </div>
  );
}

function Controls({ choice, names, types, onChange }: {
  choice: ChartChoice;
  names: string[];
  types: string[];
  onChange: (choice: ChartChoice) => void;
}) {
  const numbers = names.flatMap((_, at) => (isNumeric(types[at] as string) ? [at] : []));
  const hasY = choice.kind !== "histogram";
  const canStack = choice.kind === "bar" || choice.kind === "area" || choice.kind === "line";
  const toggle = (at: number) => {
    const isSingle = choice.kind === "pie" || choice.group !== undefined;
    const y = choice.y.includes(at) ? choice.y.filter((each) => each !== at) : isSingle ? [at] : [...choice.y, at];
    onChange({ ...choice, y });
  };
  const group = (text: string) => {
    const chosen = text === NO_GROUP ? undefined : Number(text);
    onChange({ ...choice, group: chosen, y: chosen === undefined ? choice.y : choice.y.slice(0, 1) });
  };
  const options = names.map((label, at) => ({ value: String(at), label }));
  return (
    <div class="choices" role="toolbar" aria-label={strings.chart.label}>
      <Select label={strings.chart.kind} icon="chart" value={choice.kind} options={KINDS.map((value) => ({ value, label: strings.chart.kinds[value] }))} onChange={(kind) => onChange(withKind(kind, choice, types))} />
      <span class="choice"><span aria-hidden="true">{choice.kind === "histogram" || choice.kind === "pie" ? strings.chart.of : strings.chart.x}</span><Select label={strings.chart.xLabel} value={String(choice.x)} options={options} onChange={(x) => onChange({ ...choice, x: Number(x) })} /></span>
      {hasY && (
        <span class="choice">
          <span aria-hidden="true">{strings.chart.y}</span>
          <Menu label={strings.chart.yLabel} class="outlined" commands={numbers.map((at) => ({ label: names[at] as string, isChosen: choice.y.includes(at), keepsOpen: true, run: () => toggle(at) }))}>
            <span class="select-value">{choice.y.map((at) => names[at]).join(", ") || strings.chart.countOfRows}</span>
            <Icon name="down" size={14} />
          </Menu>
        </span>
      )}
      {hasY && choice.kind !== "pie" && (
        <span class="choice">
          <span aria-hidden="true">{strings.chart.group}</span>
          <Select label={strings.chart.groupLabel} value={String(choice.group ?? NO_GROUP)} options={[{ value: NO_GROUP, label: strings.chart.noGroup }, ...options]} onChange={group} />
        </span>
      )}
      {canStack && <label class="check"><input type="checkbox" checked={choice.isStacked === true} onChange={() => onChange({ ...choice, isStacked: !choice.isStacked })} />{strings.chart.stacked}</label>}
      {choice.kind !== "pie" && <label class="check"><input type="checkbox" checked={choice.isLog === true} onChange={() => onChange({ ...choice, isLog: !choice.isLog })} />{strings.chart.log}</label>}
      <input class="chart-title" placeholder={strings.chart.title} aria-label={strings.chart.title} value={choice.title ?? ""} onChange={(event) => onChange({ ...choice, title: event.currentTarget.value || undefined })} />
    </div>
  );
}

function Plot({ choice, data, xName, onTable }: { choice: ChartChoice; data: ChartData; xName: string; onTable: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string>();
  const [scheme, setScheme] = useState(darkScheme.matches);
  const shownTheme = theme.value;
  useEffect(() => {
    const follow = () => setScheme(darkScheme.matches);
    darkScheme.addEventListener("change", follow);
    return () => darkScheme.removeEventListener("change", follow);
  }, []);
  const drawing = (): Drawing => ({ choice, data, xName, colors: colorsOf(host.current as HTMLElement) });
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isCurrent = true;
    import("./chart_engine").then(
      ({ draw }) => {
        if (isCurrent) stop = draw(host.current as HTMLElement, drawing());
      },
      () => setProblem(strings.chart.notLoaded),
    );
    return () => {
      isCurrent = false;
      stop?.();
    };
  }, [choice, data, xName, shownTheme, scheme]);
  const download = async () => {
    const { drawnPng } = await import("./chart_engine");
    const link = document.createElement("a");
    link.href = drawnPng(drawing());
    link.download = `${(choice.title || "chart").replace(/[^\p{L}\p{N} _-]/gu, "").slice(0, 80) || "chart"}.png`;
    link.click();
  };
  return (
    <>
      {problem && <Problem>{problem}</Problem>}
      <div class="plot" ref={host} role="img" data-kind={choice.kind} data-points={data.points} />
      <div class="plot-actions">
        <Button icon="download" onClick={() => void download()}>PNG</Button>
        <Button icon="table" onClick={onTable}>{strings.chart.asTable}</Button>
      </div>
    </>
  );
}

/** What is drawn, as a table: for screen readers, and to read values. */
function DataTable({ data, xName }: { data: ChartData; xName: string }) {
  const rows = useMemo(() => {
    if (data.categories) return data.categories.map((name, at) => [name, ...data.series.map((each) => each.values[at] ?? null)]);
    return data.series.flatMap((each) => (each.x ?? []).map((x, at) => [data.isTime ? timeText(x) : String(x), ...(data.series.length > 1 ? [each.label] : []), each.values[at] ?? null]));
  }, [data]);
  const heads = data.categories ? data.series.map((each) => each.label) : data.series.length > 1 ? [strings.chart.series, strings.chart.valueColumn] : [data.series[0]?.label ?? ""];
  const { items, more } = useShown(rows);
  return (
    <div class="chart-table">
      <table class="list">
        <thead><tr><th>{xName}</th>{heads.map((head, at) => <th key={at} class="numeric">{head}</th>)}</tr></thead>
        <tbody>{items.map((row, at) => <tr key={at}>{row.map((cell, place) => <td key={place} class={place ? "numeric" : ""}>{typeof cell === "number" ? cell.toLocaleString("en-US", { maximumFractionDigits: 6 }) : (cell ?? "")}</td>)}</tr>)}</tbody>
      </table>
      {more}
    </div>
  );
}

/** Fetches the columns of the choice, and computes what is drawn. */
function useChartData(result: Result, choice: ChartChoice | undefined, types: string[], names: string[]) {
  const [columns, setColumns] = useState<{ key: string; values: Map<number, Values> }>();
  const [problem, setProblem] = useState<string>();
  const filter = filterText(gridState(result).selection.value.conditions);
  const wanted = choice ? [...new Set([choice.x, ...(choice.kind === "histogram" ? [] : choice.y), ...(usesGroup(choice) ? [choice.group as number] : [])])] : [];
  const key = JSON.stringify([result.statementId, filter, wanted]);
  useEffect(() => {
    if (!wanted.length) return;
    const abort = new AbortController();
    const load = async () => {
      const query = { offset: 0, limit: ROWS_MAX, columns: wanted.join(","), filter, form: "number" as const };
      const values = decodeNumbers(await api.rows(result.statementId, query, abort.signal));
      setColumns({ key, values: new Map(wanted.map((column, at) => [column, values[at] as Values])) });
      setProblem(undefined);
    };
    load().catch((error: unknown) => abort.signal.aborted || setProblem(failureOf(error).message));
    return () => abort.abort();
  }, [key]);
  const data = useMemo(() => {
    if (!choice || columns?.key !== key) return undefined;
    const of = (column: number) => columns.values.get(column) ?? [];
    const ys = choice.kind === "histogram" ? [] : choice.y;
    return chartData(choice.kind, {
      x: of(choice.x),
      ys: ys.map(of),
      labels: ys.map((column) => names[column] ?? ""),
      group: usesGroup(choice) ? of(choice.group as number) : undefined,
      xIsTime: isTime(types[choice.x] ?? ""),
    });
  }, [columns, key, choice?.kind]);
  return { data, problem };
}

function usesGroup({ kind, group }: ChartChoice): boolean {
  return group !== undefined && kind !== "histogram" && kind !== "pie";
}

/** The colors of the theme as an element has them; a custom property itself has the colors of both themes. */
function colorsOf(node: HTMLElement): Colors {
  const probe = node.appendChild(document.createElement("span"));
  const color = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = { ink: color("--ink"), faint: color("--faint"), line: color("--line"), ground: color("--raised") };
  probe.remove();
  return colors;
}
