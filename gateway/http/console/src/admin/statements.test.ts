import assert from "node:assert/strict";
import { test } from "node:test";
import { mayChangeCatalog } from "../catalog_changes";
import { filterText, grantText, maskText, revokeText, securableOf, type Securable } from "./statements";

const TABLE: Securable = { kind: "TABLE", parts: ["c", "a.b", "x`y"] };

test("names are quoted in every statement", () => {
  assert.equal(grantText(["SELECT", "MODIFY"], TABLE, "GROUP", "a`; DROP"), "GRANT SELECT, MODIFY ON TABLE `c`.`a.b`.`x``y` TO GROUP `a``; DROP`");
  assert.equal(revokeText("CREATE CATALOG", { kind: "SERVER", parts: [] }, "on"), "REVOKE CREATE CATALOG ON SERVER FROM `on`");
  assert.equal(filterText(["c", "s", "t"], ["c", "s", "f"], ["a", "b c"]), "ALTER TABLE `c`.`s`.`t` SET ROW FILTER `c`.`s`.`f` ON (`a`, `b c`)");
  assert.equal(maskText(["t"], "a", ["f"], []), "ALTER TABLE `t` ALTER COLUMN `a` SET MASK `f`");
  assert.equal(maskText(["t"], "a", ["f"], ["b"]), "ALTER TABLE `t` ALTER COLUMN `a` SET MASK `f` USING COLUMNS (`b`)");
});

test("the object of a grant is found unless its name is ambiguous", () => {
  assert.deepEqual(securableOf("TABLE", "c.a.b.x`y", TABLE), TABLE);
  assert.deepEqual(securableOf("SCHEMA", "c.a.b", TABLE), { kind: "SCHEMA", parts: ["c", "a.b"] });
  assert.deepEqual(securableOf("SCHEMA", "c.s"), { kind: "SCHEMA", parts: ["c", "s"] });
  assert.equal(securableOf("SCHEMA", "c.a.b"), undefined);
  assert.deepEqual(securableOf("SERVER", ""), { kind: "SERVER", parts: [] });
  assert.equal(securableOf("SHARE", "s"), undefined);
});

test("statements that may change the catalog are recognized outside of texts and comments", () => {
  assert.ok(mayChangeCatalog("-- a table\ncreate table t (a INT)"));
  assert.ok(mayChangeCatalog("BEGIN DROP TABLE t; END"));
  assert.ok(!mayChangeCatalog("SELECT 'drop', created FROM t -- drop\n/* alter */"));
});
