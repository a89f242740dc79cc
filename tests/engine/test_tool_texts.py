"""Texts of tools: names are quoted, and values are parameters."""

from __future__ import annotations

from catalog.errors import Position
from engine.pipeline import parse_statement
from engine.runtime.parameters import Parameter
from engine.sql.query.source_text import SourceText, position_in, slice_text
from engine.sql.query.values import Query
from engine.statements.explain.statement import Explain
from engine.tool_texts import Argument, explanation, function_call, rows_of_table


def test_names_are_quoted() -> None:
    assert rows_of_table(("c", "s", "t` WHERE false --")) == "SELECT * FROM `c`.`s`.`t`` WHERE false --`"
    assert function_call(("c", "s", "f`"), [], is_table=False) == ("SELECT `c`.`s`.`f```() AS result", ())
    assert explanation("SELECT 1") == "EXPLAIN SELECT 1"


def test_positions_of_an_explanation_are_in_the_users_text() -> None:
    assert position_in(explanation("SELECT\n 1"), len("EXPLAIN SELECT\n ")) == Position(
        line=2, column=2, excerpt=" 1\n ^"
    )
    assert position_in("EXPLAIN SELECT 1", 8) == Position(line=1, column=9, excerpt="EXPLAIN SELECT 1\n        ^")


def test_generated_texts_have_no_positions() -> None:
    call, _ = function_call(("f",), [], is_table=True)
    for text in (rows_of_table(("c", "s", "t")), call):
        assert position_in(text, 14) is None
        assert position_in(slice_text(text, 7, len(text)), 7) is None
        assert position_in(str(text), 14) is not None


def test_equal_texts_are_parsed_with_their_own_positions() -> None:
    for text, offset in (("EXPLAIN SELECT 1", 8), (explanation("SELECT 1"), 0)):
        statement = parse_statement(text)
        assert isinstance(statement, Explain)
        assert isinstance(statement.inner, Query)
        assert isinstance(statement.inner.text, SourceText)
        assert statement.inner.text.parts[0].origin == offset


def test_values_are_parameters_of_their_types() -> None:
    arguments = [Argument("a`b", "INT", 5), Argument("b", "BOOLEAN", True), Argument("s", "STRING", "'; DROP TABLE t")]
    arguments += [Argument("n", "DATE", None), Argument("d", "DECIMAL(20,2)", "123456789012345678.91")]
    text, parameters = function_call(("f",), arguments, is_table=True)
    assert text == "SELECT * FROM `f`(`a``b` => :p0, `b` => :p1, `s` => :p2, `n` => :p3, `d` => :p4)"
    assert parameters == (
        Parameter(value="5", sql_type="INT", name="p0"),
        Parameter(value="true", sql_type="BOOLEAN", name="p1"),
        Parameter(value="'; DROP TABLE t", sql_type="STRING", name="p2"),
        Parameter(value=None, sql_type="void", name="p3"),
        Parameter(value="123456789012345678.91", sql_type="DECIMAL(20,2)", name="p4"),
    )


def test_nested_values_are_json() -> None:
    arguments = [
        Argument("a", "ARRAY<STRUCT<`it's \\ odd`: INT>>", [{"it's \\ odd": 1}]),
        Argument("v", "VARIANT", {"é": [1]}),
        Argument("m", "MAP<STRING, INT>", None),
    ]
    text, parameters = function_call(("f",), arguments, is_table=False)
    assert text == (
        "SELECT `f`(`a` => from_json(:p0, 'ARRAY<STRUCT<`it\\'s \\\\ odd`: INT>>', map('mode', 'FAILFAST')), "
        "`v` => parse_json(:p1), `m` => :p2) AS result"
    )
    assert [parameter.value for parameter in parameters] == ['[{"it\'s \\\\ odd": 1}]', '{"é": [1]}', None]
