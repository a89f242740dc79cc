import assert from "node:assert/strict";
import { test } from "node:test";
import { errorRange, splitStatements, statementAt } from "./statements";

const pieces = (text: string) => splitStatements(text).map(({ from, to }) => text.slice(from, to));

for (const [text, expected] of [
  ["", []],
  [";;", []],
  ["SELECT 1", ["SELECT 1"]],
  ["SELECT 1; SELECT 2 ;\n", ["SELECT 1", "SELECT 2"]],
  ["-- one; two\nSELECT 1", ["SELECT 1"]],
  ["/* a; /* b; */ c; */ SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]],
  ["SELECT ';' ; SELECT \";\"; SELECT `;`", ["SELECT ';'", 'SELECT ";"', "SELECT `;`"]],
  ["SELECT 'it''s; \\'x;' ; SELECT 2", ["SELECT 'it''s; \\'x;'", "SELECT 2"]],
  ["BEGIN SELECT 1; SELECT 2; END; SELECT 3", ["BEGIN SELECT 1; SELECT 2; END", "SELECT 3"]],
  ["BEGIN IF a > 0 THEN SELECT 1; END IF; SELECT if(a, 1, 2); END; SELECT 3", ["BEGIN IF a > 0 THEN SELECT 1; END IF; SELECT if(a, 1, 2); END", "SELECT 3"]],
  ["BEGIN WHILE i < 3 DO SET i = i + 1; END WHILE; END; SELECT 3", ["BEGIN WHILE i < 3 DO SET i = i + 1; END WHILE; END", "SELECT 3"]],
  ["BEGIN SELECT CASE WHEN a THEN 1 END; END; SELECT 3", ["BEGIN SELECT CASE WHEN a THEN 1 END; END", "SELECT 3"]],
  ["BEGIN DROP TABLE IF EXISTS t; END; SELECT 3", ["BEGIN DROP TABLE IF EXISTS t; END", "SELECT 3"]],
  ["BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; END; SELECT 3", ["BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; END", "SELECT 3"]],
  ["BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END; SELECT 3", ["BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END", "SELECT 3"]],
  ["SELECT CASE WHEN a THEN 1 END; SELECT 2", ["SELECT CASE WHEN a THEN 1 END", "SELECT 2"]],
] as [string, string[]][]) {
  test(`pieces of ${JSON.stringify(text)}`, () => assert.deepEqual(pieces(text), expected));
}

test("the statement at the cursor", () => {
  const text = "SELECT 1;\n\nSELECT 2;  \nSELECT 3";
  const at = (offset: number) => {
    const piece = statementAt(text, offset);
    return piece && text.slice(piece.from, piece.to);
  };
  assert.equal(at(0), "SELECT 1");
  assert.equal(at(9), "SELECT 1"); // behind its semicolon
  assert.equal(at(11), "SELECT 2");
  assert.equal(at(text.length), "SELECT 3");
  assert.equal(statementAt(" -- nothing", 3), undefined);
});

test("an error is marked where it is", () => {
  const marked = (text: string, failure: Parameters<typeof errorRange>[1]) => {
    const found = errorRange(text, failure);
    return found && text.slice(found.from, found.to);
  };
  assert.equal(marked("SELECT a\nFRM t", { message: "", line: 2, column: 1 }), "FRM");
  assert.equal(marked("SELECT nope FROM t", { message: "name `nope` cannot be resolved, `t`" }), "nope");
  assert.equal(marked("SELECT '😀', nope", { message: "", line: 1, column: 13 }), "nope");
  assert.equal(marked("SELECT x FROM s.v", { message: "of `c`.`s`.`v`", line: 1, column: 9, view: "`c`.`s`.`v`" }), "v");
  assert.equal(marked("SELECT 1", { message: "division" }), undefined);
  assert.equal(marked("EXECUTE IMMEDIATE 's'", { message: "", line: 1, column: 1, inside: "EXECUTE IMMEDIATE" }), undefined);
  assert.deepEqual(errorRange("SELECT", { message: "", line: 1, column: 7 }), { from: 6, to: 6 });
});
