"""Texts of tools: names are quoted, and values are parameters."""

from __future__ import annotations

from engine.runtime.parameters import Parameter
from engine.tool_texts import Argument, explanation, function_call, rows_of_table


def test_names_are_quoted() -> None:
    assert rows_of_table(("c", "s", "t` WHERE false --")) == "SELECT * FROM `c`.`s`.`t`` WHERE false --`"
    assert function_call(("c", "s", "f`"), [], is_table=False) == ("SELECT `c`.`s`.`f```() AS result", ())
    assert explanation("SELECT 1") == "EXPLAIN SELECT 1"


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
