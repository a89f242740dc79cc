// Places the operators of an executed plan: inputs above the operators that read them. Loaded with the first plan.
import dagre from "@dagrejs/dagre";
import type { ExecutedPlan, PlanNode } from "./api";

export const NODE_WIDTH = 210;
const LINE_PX = 17;
const PADDING_PX = 12;

export interface PlacedNode {
  node: PlanNode;
  lines: string[];
  /** The center. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  nodes: PlacedNode[];
  /** Operators for generated code, around their parts. */
  clusters: PlacedNode[];
  edges: { from: number; to: number; points: { x: number; y: number }[] }[];
  width: number;
  height: number;
}

/** `linesOf` are the texts in a node below its name. */
export function layoutPlan(plan: ExecutedPlan, linesOf: (node: PlanNode) => string[]): Layout {
  const graph = new dagre.graphlib.Graph({ compound: true });
  graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 34, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const clusterIds = new Set(plan.nodes.flatMap((node) => node.cluster ?? []));
  const known = new Set(plan.nodes.map((node) => node.id));
  const texts = new Map(plan.nodes.map((node) => [node.id, linesOf(node)]));
  for (const { id } of plan.nodes) {
    const height = (1 + (texts.get(id)?.length ?? 0)) * LINE_PX + PADDING_PX;
    graph.setNode(String(id), clusterIds.has(id) ? {} : { width: NODE_WIDTH, height });
  }
  for (const { id, cluster } of plan.nodes) if (cluster !== null && known.has(cluster)) graph.setParent(String(id), String(cluster));
  const edges = plan.edges.filter(([from, to]) => known.has(from) && known.has(to) && !clusterIds.has(from) && !clusterIds.has(to));
  for (const [from, to] of edges) graph.setEdge(String(from), String(to));
  dagre.layout(graph);
  const placed = plan.nodes.map((node): PlacedNode => {
    const { x, y, width, height } = graph.node(String(node.id));
    return { node, lines: texts.get(node.id) ?? [], x: x ?? 0, y: y ?? 0, width: width ?? 0, height: height ?? 0 };
  });
  const { width, height } = graph.graph();
  return {
    nodes: placed.filter(({ node }) => !clusterIds.has(node.id)),
    clusters: placed.filter(({ node }) => clusterIds.has(node.id)),
    edges: edges.map(([from, to]) => ({ from, to, points: graph.edge(String(from), String(to)).points ?? [] })),
    width: width ?? 0,
    height: height ?? 0,
  };
}
