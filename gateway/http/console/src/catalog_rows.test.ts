import assert from "node:assert/strict";
import { test } from "node:test";
import { isEmpty, keyOf, TreeBuilder, type Source } from "./catalog_rows";

const TEXTS = { functions: "Functions", volumes: "Volumes", loading: "…", nothing: "none", more: (count: number) => `${count} more` };

function source(tables: Record<string, Record<string, string[]>>, loaded = true): Source {
  const table = (schema: string, name: string) => ({ name, catalog: "c", schema, type: "TABLE", comment: null });
  const columns = (schema: string) =>
    Object.entries(tables[schema] ?? {}).flatMap(([name, found]) => found.map((each) => ({ name: each, table: name, sql_type: "int" })));
  return {
    catalogs: () => ({ value: { catalogs: [{ name: "c" }, { name: "system" }], current: "c" } }),
    schemas: () => ({ value: Object.keys(tables).map((name) => ({ name })) }),
    tables: (_, schema) => (loaded ? { value: Object.keys(tables[schema] ?? {}).map((name) => table(schema, name)) } : {}),
    columns: (_, schema) => ({ value: columns(schema) }),
    columnsOf: (_, schema, name) => ({ value: columns(schema).filter((column) => column.table === name) }),
    functions: () => ({ value: [] }),
    volumes: () => ({ problem: "broken" }),
  };
}

const LAKE = source({ default: { t: ["id"] }, shop: { orders: ["id", "amount"], items: ["amount_eur"] } });

function texts(filter: string, opened: [string, boolean][] = [], from = LAKE, slow = filter) {
  const { rows, matches } = new TreeBuilder(from, TEXTS, new Map(opened), filter, slow).build();
  return [rows.map(({ level, text }) => `${level} ${text}`), matches];
}

test("the current catalog and its schema default are open at first", () => {
  assert.deepEqual(texts("")[0], ["1 c", "2 default", "3 t", "3 Functions", "3 Volumes", "2 shop", "1 system"]);
  const opened = texts("", [[keyOf("volumes", ["c", "default"]), true], [keyOf("table", ["c", "default", "t"]), true]]);
  assert.deepEqual(opened[0], ["1 c", "2 default", "3 t", "4 id", "3 Functions", "3 Volumes", "4 broken", "2 shop", "1 system"]);
});

test("a filter leaves tables, columns and schemas that contain it", () => {
  assert.deepEqual(texts("ORD"), [["1 c", "2 shop", "3 orders", "1 system"], 1]);
  assert.deepEqual(texts("amount"), [["1 c", "2 shop", "3 orders", "4 amount", "3 items", "4 amount_eur", "1 system"], 2]);
  assert.deepEqual(texts("amount", [], LAKE, "amoun"), [["1 c", "1 system"], 0]);
  assert.deepEqual(texts("default.id")[0], ["1 c", "2 default", "3 t", "4 id", "1 system"]);
  assert.deepEqual(texts("nothing"), [["1 c", "1 system"], 0]);
});

test("nothing is reported as missing while lists are loading", () => {
  const loading = source({ default: { t: [] } }, false);
  assert.equal(texts("x", [], loading)[1], undefined);
  assert.equal(isEmpty(loading), undefined);
  assert.equal(isEmpty(LAKE), false);
  assert.equal(isEmpty(source({ default: {}, other: {} })), true);
});
