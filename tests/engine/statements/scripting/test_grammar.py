"""Scripts and variable statements as text: the resulting tree, and error positions."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from catalog.errors import SqlError
from engine.sql.query.values import Query
from engine.statements.insert.statement import Insert
from engine.statements.parse import parse
from engine.statements.scripting.grammar import NESTING_MAX
from engine.statements.scripting.grammar_immediate import markers
from engine.statements.scripting.statement import (
    Compound,
    ConditionalPart,
    ExecuteImmediate,
    For,
    HandlerKind,
    Iterate,
    Leave,
    Loop,
    Script,
)
from engine.statements.variables.statement import DeclareVariables, DropVariable, SetVariables
from tests.engine.sql.places import place_of


def test_a_script_is_a_tree_of_blocks() -> None:
    script = parse(
        """BEGIN -- a comment; with a semicolon
  DECLARE x, y INT DEFAULT 1;
  DECLARE EXIT HANDLER FOR SQLSTATE '22012', UNRESOLVED_COLUMN SET x = 2;
  l: WHILE x < CASE WHEN y > 0 THEN 3 END DO
    IF (SELECT count(*) FROM s.t) > 1 THEN LEAVE l; ELSEIF x = 2 THEN ITERATE l; ELSE INSERT INTO t VALUES (x); END IF;
  END WHILE l;
  FOR r AS SELECT * FROM s.t DO SELECT ';' AS `end`, r.a; END FOR;
  CASE x WHEN 1 THEN SELECT 1; END CASE;
  BEGIN END;
END"""
    )
    assert isinstance(script, Script)
    (handler,) = script.body.handlers
    assert (handler.kind, handler.sqlstates, handler.conditions) == (
        HandlerKind.EXIT,
        ("22012",),
        ("UNRESOLVED_COLUMN",),
    )
    declare, loop, each, part, block = script.body.body
    assert declare == DeclareVariables(text="DECLARE x, y INT DEFAULT ", default="1")
    assert isinstance(loop, Loop) and loop.label == "l" and loop.before is not None and loop.after is None
    (branches,) = loop.body
    assert isinstance(branches, ConditionalPart)
    assert [branch.body[0] for branch in branches.branches] == [Leave(label="l"), Iterate(label="l")]
    assert [relation.name_parts for relation in branches.branches[0].condition.relations] == [("s", "t")]
    assert isinstance(branches.otherwise[0], Insert)
    assert isinstance(each, For) and each.variable == "r" and isinstance(each.body[0], Query)
    assert each.body[0].text == "SELECT ';' AS `end`, r.a"
    assert isinstance(part, ConditionalPart) and part.subject is not None
    assert block == Compound(body=())


def test_statements_about_variables() -> None:
    assert parse("declare or replace v INT = 1;") == DeclareVariables(
        text="DECLARE or replace v INT = ", default="1", or_replace=True
    )
    assert parse("DROP TEMPORARY VARIABLE IF EXISTS session.v") == DropVariable(parts=("session", "v"), if_exists=True)
    both = parse("SET VAR (a, s.b) = (SELECT x, y FROM t)")
    assert isinstance(both, SetVariables) and both.targets == (("a",), ("s", "b"))
    assert both.source.text == "SELECT x, y FROM t"
    each = parse("SET VARIABLE a = f.b, c = greatest(1, 2)")
    assert isinstance(each, SetVariables) and each.targets == (("a",), ("c",))
    immediate = parse("EXECUTE IMMEDIATE a || b INTO x, session.y USING 1 + 1 AS n, s.v, 2")
    assert isinstance(immediate, ExecuteImmediate) and immediate.targets == (("x",), ("session", "y"))
    assert [(argument.text, argument.name) for argument in immediate.arguments] == [
        ("1 + 1", "n"),
        ("s.v", "v"),
        ("2", None),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("BEGIN\n  SELECT 1;\n  SELEC 2;\nEND", 3, 3),
        ("BEGIN\n  SELECT 1 +;\nEND", 2, 13),
        ("BEGIN\n  IF x = THEN SELECT 1; END IF;\nEND", 2, 9),
        ("BEGIN SELECT 1;\n", 2, 1),
        ("BEGIN\nSET x 1;\nEND", 2, 1),
        ("BEGIN WHILE true DO END WHILE; END", 1, 21),
        ("BEGIN SELECT 1; END extra", 1, 21),
        ("l: BEGIN SELECT 1; END", 1, 1),
        ("SET VAR x = 1 +", 1, 16),
        ("EXECUTE IMMEDIATE 'SELECT 1' INTO", 1, 34),
    ],
)
def test_script_error_has_position(text: str, line: int, column: int) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse(text)
    assert place_of(caught.value) == (line, column)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("DECLARE c CURSOR FOR SELECT 1", "UNSUPPORTED_STATEMENT"),
        ("OPEN c", "UNSUPPORTED_STATEMENT"),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 2; END", "CURSOR_ALREADY_EXISTS"),
        ("BEGIN SELECT 1; DECLARE c ASENSITIVE CURSOR FOR SELECT 1; END", "INVALID_CURSOR_DECLARATION"),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE x INT; END", "INVALID_VARIABLE_DECLARATION.ONLY_AT_BEGINNING"),
        ("BEGIN OPEN a.b.c; END", "CURSOR_REFERENCE_INVALID_QUALIFIER"),
        ("BEGIN FETCH c; END", "PARSE_SYNTAX_ERROR"),
        ("BEGIN CLOSE c d; END", "PARSE_SYNTAX_ERROR"),
        ("BEGIN SIGNAL SQLSTATE '45000'; END", "UNSUPPORTED_STATEMENT"),
        ("BEGIN RESIGNAL; END", "UNSUPPORTED_STATEMENT"),
        ("BEGIN TRANSACTION", "UNSUPPORTED_STATEMENT"),
        ("BEGIN CACHE TABLE t; END", "UNSUPPORTED_STATEMENT"),
        ("BEGIN SELECT reflect('a', 'b'); END", "UNSUPPORTED_FUNCTION"),
        ("SELECT 1; BEGIN SELECT 2; END", "MULTIPLE_STATEMENTS"),
        ("BEGIN " * (NESTING_MAX + 1) + "END; " * NESTING_MAX + "END", "SQL_SCRIPT_TOO_DEEP"),
    ],
)
def test_invalid_script_is_rejected_before_execution(text: str, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert caught.value.condition == condition


def test_blocks_nest_as_deep_as_they_may() -> None:
    assert isinstance(parse("BEGIN " * NESTING_MAX + "END; " * (NESTING_MAX - 1) + "END"), Script)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?", (True, False)),
        ("SELECT :a, x[:b]", (False, True)),
        ("SELECT '?', ':a' -- ? :b", (False, False)),
        ("SELECT v:a.b, f(v):a", (False, False)),
        ("SELECT ?, :a", (True, True)),
    ],
)
def test_markers_of_a_text(text: str, expected: tuple[bool, bool]) -> None:
    assert markers(text) == expected


@pytest.mark.parametrize("text", ["SELECT :p", "SELECT :p, 1", "VALUES :p", "select :p"])
def test_statement_that_begins_with_a_parameter_has_no_label(text: str) -> None:
    script = parse(f"BEGIN {text}; END")
    assert isinstance(script, Script)
    (query,) = script.body.body
    assert isinstance(query, Query) and query.text == text
