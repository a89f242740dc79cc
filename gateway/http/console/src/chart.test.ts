import assert from "node:assert/strict";
import { test } from "node:test";
import { chartData, restoredChart, savedChart, suggestChart, timeText, withKind, type Values } from "./chart_data";

const plain = { labels: ["y"], xIsTime: false };

test("types suggest a chart", () => {
  assert.deepEqual(suggestChart(["DATE", "INT", "DOUBLE"]), { kind: "line", x: 0, y: [1, 2] });
  assert.deepEqual(suggestChart(["STRING", "BIGINT"]), { kind: "bar", x: 0, y: [1] });
  assert.deepEqual(suggestChart(["INT", "DECIMAL(10,2)"]), { kind: "scatter", x: 0, y: [1] });
  assert.deepEqual(suggestChart(["DOUBLE"]), { kind: "histogram", x: 0, y: [] });
  assert.deepEqual(suggestChart(["STRING"]), { kind: "bar", x: 0, y: [] });
  assert.equal(suggestChart(["ARRAY<INT>"]), undefined);
});

test("another kind of chart has columns that it can draw", () => {
  const bar = { kind: "bar" as const, x: 0, y: [2] };
  assert.deepEqual(withKind("scatter", bar, ["STRING", "INT", "INT"]), { kind: "scatter", x: 1, y: [2] });
  assert.deepEqual(withKind("area", bar, ["STRING", "INT", "INT", "DATE"]), { kind: "area", x: 3, y: [2] });
  assert.deepEqual(withKind("line", { ...bar, y: [1] }, ["STRING", "INT"]), { kind: "line", x: 0, y: [1] });
  assert.deepEqual(withKind("histogram", bar, ["STRING", "INT", "INT"]), { kind: "histogram", x: 2, y: [2] });
  assert.deepEqual(withKind("pie", bar, ["STRING", "INT", "INT"]), { kind: "pie", x: 0, y: [2] });
  assert.deepEqual(withKind("line", { kind: "histogram", x: 0, y: [] }, ["INT", "INT"]), { kind: "line", x: 0, y: [1] });
});

test("settings are saved by the names of columns", () => {
  const names = ["day", "n", "city"];
  const choice = { kind: "bar" as const, x: 0, y: [1], group: 2, isStacked: true, isLog: false, title: "Sales" };
  const saved = savedChart(choice, names);
  assert.deepEqual(saved, { kind: "bar", x: "day", y: ["n"], group: "city", isStacked: true, isLog: false, title: "Sales" });
  assert.deepEqual(restoredChart(saved, ["city", "day", "n"]), { ...choice, x: 1, y: [2], group: 0 });
  for (const wrong of [undefined, null, 3, {}, { ...saved, kind: "cake" }, { ...saved, x: "gone" }, { ...saved, y: ["gone"] }, { ...saved, group: "gone" }]) {
    assert.equal(restoredChart(wrong, names), undefined);
  }
});

test("lines ascend and leave out values without a number", () => {
  const data = chartData("line", { ...plain, x: [3, null, 1], ys: [[30, 20, null]] });
  assert.deepEqual(data.series, [{ label: "y", x: [1, 3], values: [null, 30] }]);
  assert.match(data.notes[0] ?? "", /^1 rows/);
});

test("a column's values are series", () => {
  const data = chartData("line", { ...plain, x: [2, 1, 1, 3], ys: [[20, 10, 11, 31]], group: ["a", "a", "b", null] });
  assert.deepEqual(data.series, [
    { label: "a", x: [1, 2], values: [10, 20] },
    { label: "b", x: [1], values: [11] },
    { label: "NULL", x: [3], values: [31] },
  ]);
  const bars = chartData("bar", { ...plain, x: ["p", "q", "p"], ys: [[1, 2, 3]], group: ["a", "b", "b"] });
  assert.deepEqual([bars.categories, bars.series], [["p", "q"], [{ label: "a", values: [1, null] }, { label: "b", values: [3, 2] }]]);
  const many = chartData("line", { ...plain, x: [1, 2, ...Array(13).keys()], ys: [Array(15).fill(1)], group: [...Array(15).keys()] });
  assert.deepEqual([many.series.length, many.notes], [12, ["The first 12 series are shown; 3 rows of others are left out."]]);
});

test("texts are drawn in the order of rows", () => {
  const data = chartData("line", { ...plain, x: ["b", "a", null], ys: [[1, 2, 3]] });
  assert.deepEqual([data.categories, data.series], [["b", "a", "NULL"], [{ label: "y", values: [1, 2, 3] }]]);
});

test("bars are sums by category", () => {
  const data = chartData("bar", { ...plain, x: ["a", "b", "a", null], ys: [[1, 2, 3, 4]] });
  assert.deepEqual([data.categories, data.series[0]?.values], [["a", "b", "NULL"], [4, 2, 4]]);
  const counted = chartData("bar", { x: ["a", "a"], ys: [], labels: [], xIsTime: false });
  assert.deepEqual(counted.series, [{ label: "rows", values: [2] }]);
});

test("small slices are one", () => {
  const x = Array.from({ length: 20 }, (_, at) => `c${at}`);
  const data = chartData("pie", { ...plain, x: [...x, "negative"], ys: [[...x.map((_, at) => at + 1), -5]] });
  assert.deepEqual(data.categories?.slice(0, 2), ["c19", "c18"]);
  assert.deepEqual([data.categories?.at(-1), data.series[0]?.values.at(-1)], ["9 others", 45]);
  assert.equal(data.notes.length, 1);
});

test("a histogram counts every number once", () => {
  const numbers: Values = Array.from({ length: 1000 }, (_, at) => at / 10);
  const data = chartData("histogram", { x: [...numbers, null, "x"], ys: [], labels: [], xIsTime: false });
  assert.equal((data.series[0]?.values as number[]).reduce((a, b) => a + b), 1000);
  assert.match(data.notes[0] ?? "", /^2 rows/);
  const one = chartData("histogram", { x: [5, 5], ys: [], labels: [], xIsTime: false });
  assert.deepEqual(one.series, [{ label: "rows", x: [5], values: [2] }]);
});

test("of a million points the extreme ones are drawn", () => {
  const x = Array.from({ length: 1_000_000 }, (_, at) => (at * 7919) % 1_000_000);
  const y = x.map((at) => (at === 123_457 ? 5000 : at === 999_998 ? -5000 : at % 100));
  const line = chartData("line", { ...plain, x, ys: [y] });
  const [drawn] = line.series;
  assert.ok(drawn && drawn.values.length <= 12_000 && drawn.values.length > 6_000);
  assert.deepEqual([Math.max(...(drawn.values as number[])), Math.min(...(drawn.values as number[]))], [5000, -5000]);
  assert.deepEqual([drawn.x?.[0], drawn.x?.at(-1), line.points], [0, 999_999, 1_000_000]);
  assert.ok(drawn.x?.every((at, place, all) => place === 0 || at >= (all[place - 1] as number)));
  const scatter = chartData("scatter", { ...plain, x, ys: [y] });
  assert.ok((scatter.series[0]?.values.length ?? 0) <= 12_000);
  assert.equal(scatter.notes.length, 1);
});

test("times are text without a zone", () => {
  assert.deepEqual([timeText(0), timeText(1.5), timeText(1e20)], ["1970-01-01", "1970-01-01 00:00:01.500", "100000000000000000000"]);
});
