// Facts about an executed plan and its text; pure.
import type { ExecutedPlan, PlanNode } from "./api";
import { formatBytes, formatCount, formatDuration } from "./format";
import { counted } from "./operation_metrics";

/** The operator, or generated code, with the longest time; undefined if none took any. */
export function slowestNode(plan: ExecutedPlan): PlanNode | undefined {
  const timed = plan.nodes.filter((node) => (node.time_ms ?? 0) > 0);
  return timed.length ? timed.reduce((most, node) => ((node.time_ms ?? 0) > (most.time_ms ?? 0) ? node : most)) : undefined;
}

export function nodeLines(node: PlanNode): string[] {
  const lines = [];
  if (node.read) {
    lines.push(shortTable(node.read.table));
    lines.push(`${formatCount(node.read.files)} of ${counted(node.read.files_total, "file")}, ${formatBytes(node.read.bytes)}`);
  }
  const facts = [];
  if (node.rows !== null) facts.push(counted(node.rows, "row"));
  if (node.time_ms !== null) facts.push(formatDuration(node.time_ms));
  if (facts.length) lines.push(facts.join(" · "));
  return lines;
}

/** The last two parts of a quoted name. */
export function shortTable(label: string): string {
  return label.replaceAll("`", "").split(".").slice(-2).join(".");
}

/** The plan as lines: the last operator first, inputs indented below it. */
export function planText(plan: ExecutedPlan): string {
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  const clusters = new Set(plan.nodes.flatMap((node) => node.cluster ?? []));
  const inputs = new Map<number, number[]>();
  for (const [from, to] of plan.edges) inputs.set(to, [...(inputs.get(to) ?? []), from]);
  const readers = new Set(plan.edges.map(([from]) => from));
  const lines: string[] = [];
  const seen = new Set<number>();
  const write = (id: number, depth: number) => {
    const node = nodes.get(id);
    if (!node) return;
    const cluster = node.cluster === null ? undefined : nodes.get(node.cluster);
    const facts = [...nodeLines(node), ...(cluster ? [`in ${cluster.name}`] : [])];
    lines.push(`${"  ".repeat(depth)}${node.name}${facts.length ? ` (${facts.join("; ")})` : ""}`);
    if (seen.has(id)) return; // a reused exchange
    seen.add(id);
    for (const input of inputs.get(id) ?? []) write(input, depth + 1);
  };
  for (const node of plan.nodes) if (!readers.has(node.id) && !clusters.has(node.id)) write(node.id, 0);
  return lines.join("\n");
}

/** The operator to which an arrow key leads: inputs are above, readers below, others of the same height at the sides. */
export function nextNode(key: string, at: number, plan: ExecutedPlan, places: Map<number, { x: number; y: number }>): number | undefined {
  const nearest = (ids: number[]) => {
    const x = places.get(at)?.x ?? 0;
    return ids.filter((id) => places.has(id)).sort((a, b) => Math.abs((places.get(a)?.x ?? 0) - x) - Math.abs((places.get(b)?.x ?? 0) - x))[0];
  };
  switch (key) {
    case "ArrowUp":
      return nearest(plan.edges.flatMap(([from, to]) => (to === at ? [from] : [])));
    case "ArrowDown":
      return nearest(plan.edges.flatMap(([from, to]) => (from === at ? [to] : [])));
    case "ArrowLeft":
    case "ArrowRight": {
      const own = places.get(at);
      const sign = key === "ArrowLeft" ? -1 : 1;
      return nearest([...places].flatMap(([id, place]) => (own && Math.abs(place.y - own.y) < 60 && (place.x - own.x) * sign > 1 ? [id] : [])));
    }
    default:
      return undefined;
  }
}
