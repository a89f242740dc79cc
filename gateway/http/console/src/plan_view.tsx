// The executed plan of a statement as a graph that can be moved and zoomed, with details of an operator, or as text.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type ExecutedPlan, type PlanNode, type Plans } from "./api";
import { formatDuration, formatTime } from "./format";
import { counted } from "./operation_metrics";
import type { Layout, PlacedNode } from "./plan_layout";
import { nextNode, nodeLines, planText, slowestNode } from "./plan_tree";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { EmptyState, Problem } from "./ui/notice";
import { Select } from "./ui/select";
import { useLoad } from "./use_load";

const ZOOM_STEP = 1.25;
const ZOOM = { least: 0.1, most: 3 };
/** A large plan begins with its first operators, at a size that can be read. */
const READABLE_ZOOM = 0.75;
const PAN_PX = 60;
const NAME_CHARACTERS = 26;

export function PlanView({ statementId }: { statementId: string }) {
  const { value, problem } = useLoad(() => api.plan(statementId), [statementId]);
  const [chosen, setChosen] = useState(0);
  const [isText, setText] = useState(false);
  if (problem) return <Problem>{problem}</Problem>;
  if (!value) return <p class="note" role="status">{strings.common.loading}</p>;
  const plan = value.plans[Math.min(chosen, value.plans.length - 1)];
  const reason = value.reason && (strings.plan.reasons[value.reason] ?? value.reason);
  if (!plan) return <EmptyState icon="plan" title={strings.plan.none}><p>{reason}</p>{value.log_answer && <LogAnswer answer={value.log_answer} />}</EmptyState>;
  const slowest = slowestNode(plan);
  return (
    <div class="plan-view">
      {reason && <p class="note">{reason} {strings.plan.ofFirstRun(formatTime(plan.began_ms))}</p>}
      <div class="part-bar">
        {value.plans.length > 1 && (
          <Select label={strings.plan.plan} value={String(chosen)} options={value.plans.map((_, at) => ({ value: String(at), label: strings.plan.number(at + 1, value.plans.length) }))} onChange={(at) => setChosen(Number(at))} />
        )}
        <span class="note">{slowest ? strings.plan.slowest(slowest.name, formatDuration(slowest.time_ms ?? 0)) : ""}</span>
        <Button icon={isText ? "plan" : "file"} onClick={() => setText(!isText)}>{isText ? strings.plan.asGraph : strings.plan.asText}</Button>
      </div>
      {isText ? <pre class="plan-text">{planText(plan)}</pre> : <Graph key={plan.id} plan={plan} slowest={slowest} />}
    </div>
  );
}

function LogAnswer({ answer }: { answer: NonNullable<Plans["log_answer"]> }) {
  return (
    <>
      <p>{strings.plan.logAnswer(answer.table, String(answer.version), counted(answer.files, "file"))}</p>
      <p>{answer.statistics.map((each) => <code class="mark" key={each}>{each}</code>)}</p>
    </>
  );
}

interface View {
  x: number;
  y: number;
  zoom: number;
}

function Graph({ plan, slowest }: { plan: ExecutedPlan; slowest: PlanNode | undefined }) {
  const [layout, setLayout] = useState<Layout>();
  const [problem, setProblem] = useState<string>();
  const [view, setView] = useState<View>({ x: 0, y: 0, zoom: 1 });
  const [current, setCurrent] = useState<number>();
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    import("./plan_layout").then(
      ({ layoutPlan }) => setLayout(layoutPlan(plan, nodeLines)),
      () => setProblem(strings.plan.notLoaded),
    );
  }, [plan]);
  const fit = (least = ZOOM.least) => {
    const node = host.current;
    if (!node || !layout) return;
    const zoom = Math.max(least, Math.min(1, node.clientWidth / layout.width, node.clientHeight / layout.height));
    setView({ zoom, x: (node.clientWidth - layout.width * zoom) / 2, y: Math.max(0, (node.clientHeight - layout.height * zoom) / 2) });
  };
  useEffect(() => fit(READABLE_ZOOM), [layout]);
  const zoomBy = (factor: number, at?: { x: number; y: number }) =>
    setView((now) => {
      const zoom = Math.max(ZOOM.least, Math.min(ZOOM.most, now.zoom * factor));
      const { x, y } = at ?? { x: (host.current?.clientWidth ?? 0) / 2, y: (host.current?.clientHeight ?? 0) / 2 };
      return { zoom, x: x - ((x - now.x) * zoom) / now.zoom, y: y - ((y - now.y) * zoom) / now.zoom };
    });
  const pan = (x: number, y: number) => setView((now) => ({ ...now, x: now.x + x, y: now.y + y }));
  useEffect(() => {
    const node = host.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      const box = (node as HTMLElement).getBoundingClientRect();
      zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1, { x: event.clientX - box.left, y: event.clientY - box.top });
    };
    node?.addEventListener("wheel", onWheel, { passive: false });
    return () => node?.removeEventListener("wheel", onWheel);
  }, [layout]);
  const places = useMemo(() => new Map(layout?.nodes.map(({ node, x, y }) => [node.id, { x, y }])), [layout]);
  const show = (id: number) => {
    setCurrent(id);
    const place = places.get(id);
    const node = host.current;
    if (!place || !node) return;
    const [x, y] = [place.x * view.zoom + view.x, place.y * view.zoom + view.y];
    if (x < 60 || y < 40 || x > node.clientWidth - 60 || y > node.clientHeight - 40) {
      setView({ ...view, x: node.clientWidth / 2 - place.x * view.zoom, y: node.clientHeight / 2 - place.y * view.zoom });
    }
    node.querySelector<SVGGElement>(`[data-node="${id}"]`)?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pans: Record<string, [number, number]> = { ArrowLeft: [PAN_PX, 0], ArrowRight: [-PAN_PX, 0], ArrowUp: [0, PAN_PX], ArrowDown: [0, -PAN_PX] };
    const by = pans[event.key];
    const commands: Record<string, () => void> = { "+": () => zoomBy(ZOOM_STEP), "=": () => zoomBy(ZOOM_STEP), "-": () => zoomBy(1 / ZOOM_STEP), "0": () => fit() };
    const command = commands[event.key];
    if (by) {
      const next = event.shiftKey || current === undefined ? undefined : nextNode(event.key, current, plan, places);
      if (next !== undefined) show(next);
      else if (event.shiftKey) pan(...by);
    } else if (command && !event.ctrlKey && !event.metaKey) command();
    else return;
    event.preventDefault();
  };
  if (problem) return <Problem>{problem}</Problem>;
  const shown = plan.nodes.find((node) => node.id === current);
  const focusable = current ?? layout?.nodes[0]?.node.id;
  return (
    <>
      <div class="plan-graph" ref={host} role="group" aria-label={strings.plan.label} onKeyDown={onKeyDown} onPointerDown={(event) => drag(event, pan)}>
        {layout && (
          <svg width="100%" height="100%" aria-hidden={false}>
            <g transform={`translate(${view.x} ${view.y}) scale(${view.zoom})`}>
              {layout.clusters.map((cluster) => <Cluster key={cluster.node.id} placed={cluster} isSlowest={cluster.node.id === slowest?.id} />)}
              {layout.edges.map(({ from, to, points }) => <path key={`${from}-${to}`} class="plan-edge" d={points.map(({ x, y }, at) => `${at ? "L" : "M"}${x} ${y}`).join("")} />)}
              {layout.nodes.map((placed) => (
                <Node
                  key={placed.node.id}
                  placed={placed}
                  isSlowest={placed.node.id === slowest?.id}
                  isCurrent={placed.node.id === current}
                  isFocusable={placed.node.id === focusable}
                  onShow={() => show(placed.node.id)}
                />
              ))}
            </g>
          </svg>
        )}
        <div class="plan-zoom">
          <IconButton icon="plus" label={strings.plan.zoomIn} onClick={() => zoomBy(ZOOM_STEP)} />
          <IconButton icon="minus" label={strings.plan.zoomOut} onClick={() => zoomBy(1 / ZOOM_STEP)} />
          <IconButton icon="fit" label={strings.plan.fit} onClick={() => fit()} />
        </div>
      </div>
      <p class="note">{strings.plan.hint}</p>
      {shown && <Details node={shown} cluster={plan.nodes.find((node) => node.id === shown.cluster)} />}
    </>
  );
}

function Node({ placed, isSlowest, isCurrent, isFocusable, onShow }: {
  placed: PlacedNode;
  isSlowest: boolean;
  isCurrent: boolean;
  isFocusable: boolean;
  onShow: () => void;
}) {
  const { node, lines, x, y, width, height } = placed;
  return (
    <g
      class={`plan-node${isSlowest ? " slowest" : ""}${isCurrent ? " current" : ""}`}
      transform={`translate(${x - width / 2} ${y - height / 2})`}
      role="button"
      tabindex={isFocusable ? 0 : -1}
      data-node={node.id}
      aria-pressed={isCurrent}
      aria-label={[node.name, ...lines, isSlowest && strings.plan.isSlowest].filter(Boolean).join(", ")}
      onClick={onShow}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onShow();
      }}
    >
      <rect width={width} height={height} rx={6} />
      <text x={10} y={19} class="plan-name">{shortened(node.name)}</text>
      {lines.map((line, at) => <text key={at} x={10} y={19 + (at + 1) * 17}>{shortened(line, 34)}</text>)}
    </g>
  );
}

function Cluster({ placed, isSlowest }: { placed: PlacedNode; isSlowest: boolean }) {
  const { node, x, y, width, height } = placed;
  return (
    <g class={isSlowest ? "plan-cluster slowest" : "plan-cluster"} transform={`translate(${x - width / 2} ${y - height / 2})`}>
      <rect width={width} height={height} rx={8} />
      <text x={8} y={13}>{node.name}{node.time_ms === null ? "" : ` · ${formatDuration(node.time_ms)}`}</text>
    </g>
  );
}

function Details({ node, cluster }: { node: PlanNode; cluster: PlanNode | undefined }) {
  const metrics = [...node.metrics, ...(cluster?.metrics.map(({ name, value }) => ({ name: `${cluster.name}: ${name}`, value })) ?? [])];
  return (
    <aside class="plan-details" aria-label={node.name}>
      <h4>{node.name}</h4>
      <pre>{node.description}</pre>
      {metrics.length > 0 && <table class="list"><tbody>{metrics.map(({ name, value }) => <tr key={name}><th>{name}</th><td class="code">{value}</td></tr>)}</tbody></table>}
    </aside>
  );
}

function drag(event: PointerEvent, pan: (x: number, y: number) => void): void {
  if (event.button !== 0 || (event.target as Element).closest("button, [role=button]")) return;
  let { clientX, clientY } = event;
  const move = (moved: PointerEvent) => {
    pan(moved.clientX - clientX, moved.clientY - clientY);
    ({ clientX, clientY } = moved);
  };
  const stop = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", stop);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", stop);
}

function shortened(text: string, most = NAME_CHARACTERS): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
