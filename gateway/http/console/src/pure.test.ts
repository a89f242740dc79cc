import assert from "node:assert/strict";
import { test } from "node:test";
import { describeType, fileChanges, tableChanges } from "./diff";
import { columnsBetween, groupedDigits, revealingLeft, runningSums } from "./columns";
import { parseExact } from "./exact_json";
import { formatBytes, formatCount, formatDuration } from "./format";
import { tabStep, treeStep } from "./keys";
import { columnsInScope, namedTables, namespace, quoted, written } from "./names";
import { counted, metricTexts } from "./operation_metrics";
import { squarify } from "./treemap";
import { ROW_PX, Viewport } from "./viewport";

test("arrows go through a tree", () => {
  const items = [{ isOpen: true }, { isOpen: false, above: 0 }, { isOpen: true, above: 0 }, { above: 2 }];
  const steps = (key: string) => [-1, 0, 1, 2, 3].map((at) => treeStep(key, at, items));
  assert.deepEqual(steps("ArrowDown"), [0, 1, 2, 3, undefined]);
  assert.deepEqual(steps("ArrowUp").slice(1), [-1, 0, 1, 2]);
  assert.deepEqual(steps("ArrowRight"), [undefined, 1, "toggle", 3, undefined]);
  assert.deepEqual(steps("ArrowLeft"), [undefined, "toggle", 0, "toggle", 2]);
  assert.equal(treeStep("x", 1, items), undefined);
});

test("arrows go around the tabs", () => {
  assert.deepEqual([tabStep("ArrowRight", 2, 3), tabStep("ArrowLeft", 0, 3), tabStep("Enter", 0, 3)], [0, 2, undefined]);
});

test("boxes fill the area in proportion", () => {
  const sizes = [50, 20, 20, 5, 3, 1, 1];
  const boxes = squarify(sizes, 200, 100);
  boxes.forEach((box, at) => {
    assert.ok(Math.abs(box.width * box.height - (sizes[at] as number) * 200) < 1e-6);
    assert.ok(box.x >= -1e-9 && box.y >= -1e-9 && box.x + box.width <= 200 + 1e-6 && box.y + box.height <= 100 + 1e-6);
  });
  assert.deepEqual(squarify([], 10, 10), []);
});

test("a long list is scaled, and both ends are reached", () => {
  const short = new Viewport(100, 260);
  assert.equal(short.isScaled, false);
  assert.equal(short.firstAt(ROW_PX * 7), 7);
  const long = new Viewport(10_000_000, 260);
  assert.equal(long.isScaled, true);
  assert.equal(long.firstAt(0), 0);
  assert.equal(long.firstAt(long.heightPx), 10_000_000 - 10);
  assert.equal(Math.round(long.firstAt(long.scrollAt(1_234_567))), 1_234_567);
  assert.equal(long.moved(5, -10), 0);
  assert.equal(long.revealing(100, 50), 91);
  assert.equal(long.revealing(20, 50), 20);
  assert.equal(long.revealing(55, 50), 50);
});

test("what changed between versions", () => {
  const table = { table_name: "t", catalog_name: "c", schema_name: "s", type: "MANAGED" };
  const before = { ...table, columns: [{ name: "a", type: { name: "int" } }, { name: "b", type: { name: "int" } }], table_properties: { p: "1" } };
  const after = { ...table, columns: [{ name: "a", type: { name: "bigint" } }], table_properties: { p: "1", q: "2" } };
  assert.deepEqual(tableChanges(before, after), [
    { what: "column a", before: "int", after: "bigint" },
    { what: "column b", before: "int", after: undefined },
    { what: "property q", before: undefined, after: "2" },
  ]);
  const file = (path: string, deleted_rows = 0) => ({ path, size: 1, rows: 1, deleted_rows, partition: {} });
  const changes = fileChanges([file("a"), file("b")], [file("b", 2), file("c")]);
  assert.deepEqual([changes.added, changes.removed, changes.changed], [[file("c")], [file("a")], [file("b", 2)]]);
});

test("types as SQL writes them", () => {
  const int = { name: "int" };
  assert.equal(describeType({ name: "array", element_type: { name: "decimal", precision: 9, scale: 2 } }), "array<decimal(9,2)>");
  assert.equal(describeType({ name: "map", key_type: { name: "string" }, value_type: int }), "map<string, int>");
  assert.equal(describeType({ name: "struct", fields: [{ name: "a", type: int }] }), "struct<a: int>");
  assert.equal(describeType({ name: "varchar", length: 5 }), "varchar(5)");
  assert.equal(describeType({ name: "timestamp_ltz" }), "timestamp");
});

test("the tables that a text names", () => {
  const catalogs = { c: { default: { Orders: [], other: [] }, s: { orders: [{ name: "id", type: "INT" }], "odd name": [] } } };
  const found = (text: string) => namedTables(catalogs, text).map(({ schema, table }) => `${schema}.${table}`);
  assert.deepEqual(found("SELECT o. FROM ORDERS o"), ["default.Orders", "s.orders"]);
  assert.deepEqual(found("SELECT * FROM `Odd Name`"), ["s.odd name"]);
  assert.deepEqual(found("SELECT orders_x, '1'"), []);
});

test("a table of another catalog is written with it", () => {
  assert.equal(written({ catalog: "c", schema: "s", table: "odd name" }, "c"), "s.`odd name`");
  assert.equal(written({ catalog: "system", schema: "gateway", table: "queries" }, "c"), "system.gateway.queries");
});

test("names are escaped for the editor, and quoted for SQL", () => {
  const found = namespace({ another: { s: {} }, c: { "a.b": { t: [] }, default: { u: [] } } }, "c", "default") as Record<string, unknown>;
  assert.deepEqual(Object.keys(found), ["another", "c", "a\\.b", "default", "u"]);
  assert.deepEqual(["ok_1", "odd name", "a`b", "1x"].map(quoted), ["ok_1", "`odd name`", "`a``b`", "`1x`"]);
});

test("columns without an alias are those of tables in a named or the current schema", () => {
  const orders = (name: string) => ({ orders: [{ name, type: "INT" }] });
  const catalogs = { c: { default: orders("a"), shop: orders("b"), other: orders("x") } };
  const found = (text: string, schema: string) => columnsInScope(catalogs, text, schema).map(({ name }) => name);
  assert.deepEqual(found("SELECT FROM orders", "default"), ["a"]);
  assert.deepEqual(found("SELECT FROM shop.orders", "none"), ["b"]);
  assert.deepEqual(found("SELECT FROM nothing", "default"), []);
});

test("whole numbers beyond 2^53 are text", { skip: !("rawJSON" in JSON) && "of an engine that does not tell the source" }, () => {
  assert.deepEqual(parseExact('{"a": 9007199254740993, "b": [-1, 1.5, 1e300], "c": "9007199254740993"}'), {
    a: "9007199254740993",
    b: [-1, 1.5, 1e300],
    c: "9007199254740993",
  });
});

test("numbers for people", () => {
  assert.deepEqual([0, 1023, 1536, 200 * 1024].map(formatBytes), ["0 B", "1023 B", "1.5 KiB", "200 KiB"]);
  assert.deepEqual([5, 1234, 61_000].map(formatDuration), ["5 ms", "1.23 s", "1 min 1 s"]);
  assert.deepEqual([0, 0.04, 0.44, 7.25, 9.99].map(formatDuration), ["0 ms", "0 ms", "0.4 ms", "7.3 ms", "10 ms"]);
  assert.equal(formatCount(1_000_000), "1,000,000");
});

test("a marked column is scrolled into view", () => {
  const ends = runningSums([100, 200, 300, 50]);
  assert.deepEqual(ends, [100, 300, 600, 650]);
  assert.deepEqual([0, 1, 2, 3].map((at) => revealingLeft(ends, at, 150, 310)), [0, 100, 290, 340]);
  assert.equal(revealingLeft(ends, 2, 0, 200), 300);
  assert.deepEqual(columnsBetween(ends, 301, 599), [2]);
});

test("digits are grouped in numbers only", () => {
  const cells = ["1234567", "-1234.5678", "999", "1.2E10", "NaN", "12345678901234567890.10"];
  assert.deepEqual(cells.map(groupedDigits), ["1,234,567", "-1,234.5678", "999", "1.2E10", "NaN", "12,345,678,901,234,567,890.10"]);
});

test("metrics of operations are words of either spelling", () => {
  assert.deepEqual(metricTexts({ numAddedFiles: "1", num_added_files: "12345", numRemovedBytes: "2048", numFiles: "0", executionTimeMs: "5" }),
    ["added files 1", "added files 12,345", "removed bytes 2.0 KiB"]);
  assert.deepEqual(metricTexts({ "added-data-files": "1", "total-records": "5", "added-files-size": "1081" }), ["added data files 1", "added files size 1.1 KiB"]);
  assert.deepEqual(metricTexts(null), []);
  assert.deepEqual([counted(1, "file"), counted(0, "file"), counted(1234, "file")], ["1 file", "0 files", "1,234 files"]);
});
