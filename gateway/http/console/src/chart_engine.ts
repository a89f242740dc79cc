// Draws charts with Apache ECharts; loaded when the first chart is shown.
import { BarChart, LineChart, PieChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, LegendComponent, TitleComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { timeText, type ChartChoice, type ChartData } from "./chart_data";

echarts.use([BarChart, LineChart, PieChart, ScatterChart, AriaComponent, GridComponent, LegendComponent, TitleComponent, TooltipComponent, SVGRenderer, CanvasRenderer]);

const COLORS = ["#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#ec4899", "#14b8a6", "#a16207", "#6366f1", "#84cc16", "#f97316", "#64748b"];
const FONT = "system-ui, 'DejaVu Sans', sans-serif";
const LABEL_CHARACTERS = 18;

export interface Colors {
  ink: string;
  faint: string;
  line: string;
  ground: string;
}

export interface Drawing {
  choice: ChartChoice;
  data: ChartData;
  /** The column on the x axis. */
  xName: string;
  colors: Colors;
}

/** Draws into `host`, and follows its size, until the returned function is called. */
export function draw(host: HTMLElement, drawing: Drawing): () => void {
  const chart = echarts.init(host, null, { renderer: "svg" });
  chart.setOption(options(drawing));
  const watch = new ResizeObserver(() => chart.resize());
  watch.observe(host);
  return () => {
    watch.disconnect();
    chart.dispose();
  };
}

/** The same chart as a PNG image, as a data URL. */
export function drawnPng(drawing: Drawing): string {
  const host = document.createElement("div");
  const chart = echarts.init(host, null, { renderer: "canvas", width: 1200, height: 700 });
  chart.setOption(options(drawing));
  const url = chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: drawing.colors.ground });
  chart.dispose();
  return url;
}

function options({ choice, data, xName, colors }: Drawing): echarts.EChartsCoreOption {
  const hasLegend = data.series.length > 1;
  const top = (choice.title ? 34 : 12) + (hasLegend ? 28 : 0);
  const text = { color: colors.ink, fontFamily: FONT };
  return {
    animation: false,
    useUTC: true, // values are the session's wall clock
    color: COLORS,
    textStyle: { fontFamily: FONT },
    aria: { enabled: true },
    title: choice.title ? { text: choice.title, left: "center", top: 4, textStyle: { ...text, fontSize: 15, width: 800, overflow: "truncate" } } : undefined,
    legend: hasLegend ? { type: "scroll", top: choice.title ? 30 : 4, textStyle: text, pageTextStyle: text, pageIconColor: colors.ink, formatter: shortened } : undefined,
    tooltip: {
      trigger: choice.kind === "scatter" || choice.kind === "pie" ? "item" : "axis",
      renderMode: "richText", // the page's policy forbids markup with styles
      confine: true,
      backgroundColor: colors.ground,
      borderColor: colors.line,
      textStyle: text,
    },
    ...(choice.kind === "pie" ? pieOptions(data, colors) : axesOptions({ choice, data, xName, colors }, top)),
  };
}

function pieOptions(data: ChartData, colors: Colors): echarts.EChartsCoreOption {
  const [series] = data.series;
  return {
    series: [{
      type: "pie",
      name: series?.label,
      radius: ["35%", "70%"],
      label: { color: colors.ink, formatter: "{b}: {d} %", width: 180, overflow: "truncate" },
      data: (series?.values ?? []).map((value, at) => ({ value, name: data.categories?.[at] ?? "" })),
    }],
  };
}

function axesOptions({ choice, data, xName, colors }: Drawing, top: number): echarts.EChartsCoreOption {
  const isBar = choice.kind === "bar" || choice.kind === "histogram";
  const axis = {
    axisLine: { show: true, lineStyle: { color: colors.line } },
    axisLabel: { color: colors.ink, hideOverlap: true },
    nameTextStyle: { color: colors.faint },
    splitLine: { lineStyle: { color: colors.line } },
  };
  const isCategory = data.categories !== undefined || choice.kind === "histogram";
  const histogram = choice.kind === "histogram" ? (data.series[0]?.x ?? []).map((middle) => binLabel(middle, data.isTime)) : undefined;
  return {
    grid: { left: 12, right: 24, top: top + 20, bottom: 34, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    xAxis: {
      ...axis,
      type: isCategory ? "category" : data.isTime ? "time" : "value",
      name: shortened(xName),
      nameLocation: "middle",
      nameGap: 28,
      scale: true,
      data: data.categories ?? histogram,
      splitLine: { show: false },
      axisLabel: { ...axis.axisLabel, formatter: isCategory ? shortened : undefined },
    },
    yAxis: { ...axis, type: choice.isLog ? "log" : "value", name: data.series.length === 1 ? shortened(data.series[0]?.label ?? "") : undefined, scale: !isBar && choice.kind !== "area" },
    series: data.series.map((each) => {
      const values = each.values.map((value) => (choice.isLog && value !== null && value <= 0 ? null : value));
      const points = isCategory ? values : values.map((value, at) => [(each.x?.[at] ?? 0) * (data.isTime ? 1000 : 1), value]);
      const base = { name: each.label, data: points, stack: choice.isStacked && choice.kind !== "scatter" ? "all" : undefined };
      if (isBar) return { ...base, type: "bar", barCategoryGap: choice.kind === "histogram" ? "2%" : "25%" };
      if (choice.kind === "scatter") return { ...base, type: "scatter", symbolSize: 5, itemStyle: { opacity: 0.75 } };
      return { ...base, type: "line", showSymbol: points.length < 100, symbolSize: 5, lineStyle: { width: 1.6 }, areaStyle: choice.kind === "area" ? { opacity: 0.35 } : undefined };
    }),
  };
}

function binLabel(middle: number, isTime: boolean): string {
  return isTime ? timeText(middle).slice(0, 10) : String(Number(middle.toPrecision(5)));
}

function shortened(name: string): string {
  return name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS - 1)}…` : name;
}
