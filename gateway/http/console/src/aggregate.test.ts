import assert from "node:assert/strict";
import { test } from "node:test";
import { aggregateSql, isQuery, literal } from "./aggregate_sql";

test("queries are told from other statements", () => {
  for (const text of ["SELECT 1", " -- first\n/* two */ with a AS (SELECT 1) FROM a", "(SELECT 1)", "VALUES (1)", "table t"]) assert.equal(isQuery(text), true, text);
  for (const text of ["SHOW TABLES", "INSERT INTO t SELECT 1", "EXPLAIN SELECT 1", "", "-- SELECT 1"]) assert.equal(isQuery(text), false, text);
});

test("rows are grouped", () => {
  const text = aggregateSql("SELECT * FROM t;", { rows: ["region", "odd `name`"], aggregate: "sum", value: "amount" });
  assert.equal(text, "SELECT region, `odd ``name```, sum(amount) AS `sum of amount`\nFROM (\nSELECT * FROM t\n) AS result\nGROUP BY ALL\nORDER BY ALL");
  assert.equal(aggregateSql("TABLE t", { rows: [], aggregate: "count", value: "" }), "SELECT count(*) AS count\nFROM (\nTABLE t\n) AS result");
});

test("values of a column become columns", () => {
  const text = aggregateSql("TABLE t", { rows: ["region"], aggregate: "count_distinct", value: "id", pivot: { column: "day", literals: ["DATE'2026-01-01'", "DATE'2026-01-02'"] } });
  assert.equal(text, "SELECT *\nFROM (SELECT region, day, id FROM (\nTABLE t\n) AS result)\nPIVOT (count(DISTINCT id) FOR day IN (DATE'2026-01-01', DATE'2026-01-02'))\nORDER BY ALL");
});

test("literals end where the value does", () => {
  assert.equal(literal("it's a \\", { type_name: "STRING" }), "'it\\'s a \\\\'");
  assert.equal(literal("-1.50", { type_name: "DECIMAL" }), "-1.50");
  assert.equal(literal("NaN", { type_name: "DOUBLE" }), undefined);
  assert.equal(literal("[1]", { type_name: "ARRAY" }), undefined);
});
