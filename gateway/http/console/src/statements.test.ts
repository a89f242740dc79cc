import assert from "node:assert/strict";
import { test } from "node:test";
import { errorRange, failureParts, failureRange, lineAndColumn } from "./failure_parts";
import { callAt, firstWords, piecesOf, placeOf, splitStatements, statementAt } from "./statements";

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
  assert.equal(marked("SELECT a\nFRM t", { line: 2, column: 1 }), "FRM");
  assert.equal(marked("SELECT * FROM s.`a``b`, t", { line: 1, column: 15 }), "s.`a``b`");
  assert.equal(marked("SELECT '😀', nope", { line: 1, column: 13 }), "nope");
  assert.equal(marked("SELECT x FROM s.v", { line: 1, column: 9, view: "`c`.`s`.`v`" }), "v");
  assert.equal(marked("SELECT 1", {}), undefined);
  assert.equal(marked("EXECUTE IMMEDIATE 's'", { line: 1, column: 1, inside: "EXECUTE IMMEDIATE" }), undefined);
  assert.deepEqual(errorRange("SELECT", { line: 1, column: 7 }), { from: 6, to: 6 });
});

test("the selection's statements keep their place in the text", () => {
  const text = "SELECT 1;\nSELECT 2;\nSELECT 3";
  assert.deepEqual(piecesOf(text, 3, 18).map(({ from, to }) => text.slice(from, to)), ["ECT 1", "SELECT 2"]);
  assert.deepEqual(piecesOf(text, 4, 4), []);
});

test("a statement is found again after changes of the text", () => {
  assert.equal(placeOf("SELECT 1", "SELECT 1", 0), 0);
  assert.equal(placeOf("-- new\nSELECT 1", "SELECT 1", 0), 7);
  assert.equal(placeOf("SELECT 1;\nSELECT 1", "SELECT 1", 3), undefined);
  assert.equal(placeOf("SELECT 2", "SELECT 1", 0), undefined);
});

test("a result is named by the statement's first words", () => {
  assert.equal(firstWords("-- of the year\n/* all */ SELECT\n  city FROM t", 99), "SELECT city FROM t");
  assert.equal(firstWords("SELECT city, amount FROM t", 13), "SELECT city,…");
});

test("an error's message is shown in its parts", () => {
  const message = "[DIVIDE_BY_ZERO] Division by zero (line 1, column 8). SQLSTATE: 22012\nSELECT 1/0\n       ^\nHint: Use `try_divide`.";
  const failure = { error_code: "BAD_REQUEST", message, condition: "DIVIDE_BY_ZERO", sql_state: "22012", line: 1, column: 8, excerpt: "SELECT 1/0\n       ^", hint: "Use `try_divide`." };
  assert.deepEqual(failureParts(failure), { text: "Division by zero.", condition: "DIVIDE_BY_ZERO", sqlState: "22012", hint: "Use `try_divide`.", rest: undefined });
  assert.deepEqual(failureRange("SELECT 0;\nSELECT 1/0", { text: "SELECT 1/0", from: 10, failure }), { from: 17, to: 18 });
  assert.deepEqual(lineAndColumn("SELECT 0;\nSELECT 1/0", 17), { line: 2, column: 8 });
  assert.equal(failureParts({ error_code: "UNREACHABLE", message: "The server cannot be reached." }).text, "The server cannot be reached.");
});

test("the call around the cursor", () => {
  const at = (text: string) => callAt(text.replace("|", ""), text.indexOf("|"))?.name;
  assert.equal(at("SELECT substring(a, |"), "substring");
  assert.equal(at("SELECT f(g(1), ')', |)"), "f");
  assert.equal(at("SELECT f(1)|"), undefined);
  assert.equal(at("SELECT f(1); SELECT (|1)"), undefined);
  assert.equal(at("SELECT concat(/* ( */ |"), "concat");
});
