"""`table_changes` in a query as a value: the table, the bounds, the position; and errors."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.sql.query.splice import splice
from engine.sql.query.values import ChangeRange, Query, Relation
from engine.statements.parse import parse


def _relations(text: str) -> tuple[Relation, ...]:
    query = parse(text)
    assert isinstance(query, Query)
    return query.relations


@pytest.mark.parametrize(
    ("call", "parts", "bounds"),
    [
        ("table_changes('t', 1)", ("t",), ChangeRange("1")),
        ("TABLE_CHANGES('s.t', 1, 2)", ("s", "t"), ChangeRange("1", "2")),
        ("table_changes('`c d`.`s.s`.t', -1)", ("c d", "s.s", "t"), ChangeRange("-1")),
        ("`table_changes`(r'delta.`/p@v3`', 0)", ("delta", "/p@v3"), ChangeRange("0")),
        ("table_changes_by_path('/a b', '2024-01-01')", ("delta", "/a b"), ChangeRange("'2024-01-01'")),
        ("table_changes ( 't' , 2 + 3 , :end )", ("t",), ChangeRange("2 + 3", ":end")),
        ("table_changes('t', /* from */ 1L, 2 -- to\n)", ("t",), ChangeRange("1L", "2")),
        (
            "table_changes('t', current_date, now() - INTERVAL 1 DAY)",
            ("t",),
            ChangeRange("current_date", "now() - INTERVAL 1 DAY"),
        ),
        ("table_changes('t', TIMESTAMP '2024-01-01')", ("t",), ChangeRange("TIMESTAMP '2024-01-01'")),
    ],
)
def test_a_call_names_a_table_and_bounds(call: str, parts: tuple[str, ...], bounds: ChangeRange) -> None:
    text = f"SELECT * FROM {call} WHERE a"
    (relation,) = _relations(text)
    assert (relation.name_parts, relation.changes) == (parts, bounds)
    assert text[relation.span.start : relation.span.end] == call
    assert (relation.alias, relation.time_travel) == (None, None)


SPLICED = (
    ("SELECT c.a FROM table_changes('t', 1) AS c", "SELECT c.a FROM `n0` AS c"),
    ("SELECT a FROM table_changes('t', 1) c(a, b)", "SELECT a FROM `n0` c(a, b)"),
    # without an alias nothing can replace it, in particular not the table's own name
    ("SELECT t.a FROM t JOIN table_changes('t', 1) USING (a)", "SELECT t.a FROM `n0` AS `t` JOIN `n1` USING (a)"),
    ("SELECT * FROM (table_changes('t', 1))", "SELECT * FROM (`n0`)"),
    ("WITH t AS (SELECT 1) SELECT * FROM table_changes('t', 1), t", "WITH t AS (SELECT 1) SELECT * FROM `n0`, t"),
    ("FROM table_changes('t', 1) |> WHERE a", "FROM `n0` |> WHERE a"),
    (
        "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM table_changes('t', 1) x WHERE x.b = a.b)",
        "SELECT * FROM `n0` AS `a` WHERE EXISTS (SELECT 1 FROM `n1` x WHERE x.b = a.b)",
    ),
)


@pytest.mark.parametrize(("text", "expected"), SPLICED)
def test_a_name_takes_the_place_of_the_call(text: str, expected: str) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert splice(query, [f"n{index}" for index in range(len(query.relations))]) == expected


def test_the_log_does_not_answer_for_the_changes() -> None:
    query = parse("SELECT count(*) FROM table_changes('t', 1)")
    assert isinstance(query, Query) and query.metadata_query is None


@pytest.mark.parametrize(
    "text", ["SELECT table_changes FROM t", "SELECT * FROM table_changes", "SELECT 1 AS table_changes"]
)
def test_the_name_is_a_name_where_nothing_is_called(text: str) -> None:
    assert all(relation.changes is None for relation in _relations(text))


REFUSED = (
    ("SELECT * FROM table_changes()", "INCORRECT_NUMBER_OF_ARGUMENTS"),
    ("SELECT * FROM table_changes('t')", "INCORRECT_NUMBER_OF_ARGUMENTS"),
    ("SELECT * FROM table_changes('t', 1, 2, 3)", "INCORRECT_NUMBER_OF_ARGUMENTS"),
    ("SELECT * FROM table_changes('t', a)", "DELTA_CDC_NON_CONSTANT_ARGUMENT"),
    ("SELECT * FROM u, table_changes('t', u.a + 1)", "DELTA_CDC_NON_CONSTANT_ARGUMENT"),
    ("SELECT * FROM table_changes(t, 1)", "DELTA_CDC_NON_CONSTANT_ARGUMENT"),
    ("SELECT * FROM table_changes(concat('t', 'u'), 1)", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes(5, 1)", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes('t', ?)", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes('t', (SELECT max(v) FROM u))", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes('t', reflect('a', 'b'))", "UNSUPPORTED_FUNCTION"),
    ("SELECT * FROM table_changes('t', 1) VERSION AS OF 3", "UNSUPPORTED_CLAUSE"),
    ("SELECT table_changes('t', 1)", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM u, LATERAL table_changes('t', 1)", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM u LATERAL VIEW table_changes('t', 1) x", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes('t', table_changes('t', 1))", "UNSUPPORTED_CLAUSE"),
    ("SELECT * FROM table_changes('a.b.c.d', 1)", "IDENTIFIER_TOO_MANY_NAME_PARTS"),
    ("SELECT * FROM table_changes('csv.`/a`', 1)", "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY"),
    ("SELECT * FROM table_changes('', 1)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('a b', 1)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('a`', 1)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('t', 1 2)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('t', , 1)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('t', 1,)", "PARSE_SYNTAX_ERROR"),
    ("SELECT * FROM table_changes('t', 1", "PARSE_SYNTAX_ERROR"),
)


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_unsupported_table_functions_are_rejected_by_name(text: str, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert caught.value.condition == condition
