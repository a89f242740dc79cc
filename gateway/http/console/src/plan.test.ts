import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecutedPlan, PlanNode } from "./api";
import { layoutPlan } from "./plan_layout";
import { nextNode, nodeLines, planText, shortTable, slowestNode } from "./plan_tree";

function node(id: number, name: string, given: Partial<PlanNode> = {}): PlanNode {
  return { id, name, description: name, cluster: null, rows: null, bytes: null, time_ms: null, metrics: [], read: null, ...given };
}

const read = { table: "`c`.`s`.`t`", version: 1, files: 1, files_after_partitions: 2, files_total: 5, bytes: 2048, bytes_total: 9000 };
const PLAN: ExecutedPlan = {
  id: 1,
  began_ms: 0,
  duration_ms: 10,
  nodes: [
    node(0, "Code", { time_ms: 1500 }),
    node(1, "Join", { cluster: 0, rows: 1 }),
    node(2, "Scan a", { rows: 1000, time_ms: 12, read }),
    node(3, "Scan b", { time_ms: 0 }),
  ],
  edges: [[2, 1], [3, 1]],
};

test("the slowest node has the longest time", () => {
  assert.equal(slowestNode(PLAN)?.name, "Code");
  assert.equal(slowestNode({ ...PLAN, nodes: [node(0, "Sort"), node(1, "Scan", { time_ms: 0 })] }), undefined);
});

test("a node names its rows, time and pruning", () => {
  assert.deepEqual(nodeLines(PLAN.nodes[2] as PlanNode), ["s.t", "1 of 5 files, 2.0 KiB", "1,000 rows · 12 ms"]);
  assert.deepEqual(nodeLines(node(9, "Project")), []);
  assert.equal(shortTable("`a`"), "a");
});

test("a plan is text with inputs below the operators that read them", () => {
  assert.equal(planText(PLAN), "Join (1 row; in Code)\n  Scan a (s.t; 1 of 5 files, 2.0 KiB; 1,000 rows · 12 ms)\n  Scan b (0 ms)");
});

test("inputs are placed above their reader, and arrows go between them", () => {
  const layout = layoutPlan(PLAN, nodeLines);
  assert.deepEqual([layout.nodes.length, layout.clusters.length, layout.edges.length], [3, 1, 2]);
  const places = new Map(layout.nodes.map(({ node: { id }, x, y }) => [id, { x, y }]));
  const [join, first, second] = [1, 2, 3].map((id) => places.get(id) as { x: number; y: number });
  assert.ok(join && first && second && first.y < join.y && second.y < join.y);
  assert.equal(nextNode("ArrowDown", 2, PLAN, places), 1);
  assert.ok([2, 3].includes(nextNode("ArrowUp", 1, PLAN, places) as number));
  assert.equal(nextNode("ArrowDown", 1, PLAN, places), undefined);
  const [left, right] = first.x < second.x ? [2, 3] : [3, 2];
  assert.deepEqual([nextNode("ArrowRight", left as number, PLAN, places), nextNode("ArrowLeft", right as number, PLAN, places)], [right, left]);
  assert.equal(nextNode("Enter", 1, PLAN, places), undefined);
});
