"""Calls of non-Spark functions in queries, and their replacements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import BodyNotPossible
from catalog.entries import FunctionEntry, FunctionParameter
from catalog.names import SchemaName, TableName
from engine.sql.query.bodies import free_names, inlined_call, is_of_row, parse_body, with_arguments
from engine.sql.query.splice import splice
from engine.sql.query.values import Query
from engine.statements.parse import parse

CALLS = [
    ("SELECT f(1, g(x, 2))", [("f(1, g(x, 2))", ["1", "g(x, 2)"], True), ("g(x, 2)", ["x", "2"], False)]),
    ("SELECT `c`.s.`f`(t.x) OVER (ORDER BY 1)", [("`c`.s.`f`(t.x)", ["t.x"], False)]),
    ("SELECT upper(f()) FROM t", [("f()", [], False)]),
    ("SELECT s.f(a) AS b, (f(c)), upper(d)", [("s.f(a)", ["a"], False), ("f(c)", ["c"], False)]),
    ("SELECT 1 FROM t WHERE f(a)[0] IN (1, f((SELECT max(b) FROM u)))", [
        ("f(a)", ["a"], False),
        ("f((SELECT max(b) FROM u))", ["(SELECT max(b) FROM u)"], False),
    ]),
    ("SELECT * FROM f JOIN g USING (h)", []),
    ("WITH f(x) AS (SELECT 1) SELECT * FROM f", []),
    ("SELECT f /* ( */ (1, -- )\n 2)", [("f /* ( */ (1, -- )\n 2)", ["1", "2"], True)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CALLS)
def test_calls_and_their_arguments(text: str, expected: list[tuple[str, list[str], bool]]) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    found = [
        (
            text[call.span.start : call.span.end],
            [text[each.start : each.end] for each in call.arguments],
            call.is_column,
        )
        for call in query.calls
    ]
    assert found == expected


def inlined(text: str, names: list[str], body: str, parameters: tuple[str, ...], defaults: tuple[str, ...] = ()) -> str:
    """Returns `text` with all calls inlined as one function, whose parameters and value are INT."""
    query = parse(text)
    assert isinstance(query, Query)
    parsed = parse_body(body, parameters, "f")
    entry = FunctionEntry(
        name=TableName("c", "s", "f"),
        parameters=tuple(FunctionParameter(name=name, type="INT") for name in parameters),
        returns="INT",
        body=body,
        current=SchemaName("c", "s"),
    )
    first = len(query.relations)
    calls = tuple(
        with_arguments(
            call,
            [None] * (len(entry.parameters) - len(defaults)) + list(defaults),
            inlined_call(call, entry, parsed, parsed.query, first),
        )
        for call in (replace(each, places=tuple(range(len(each.arguments)))) for each in query.calls)
    )
    read = tuple(replace(each, functions=(entry.name,)) for each in parsed.query.relations)
    return splice(Query(text=query.text, relations=(*query.relations, *read), inlined=calls), names)


INLINED = [
    ("SELECT f(a) + 1", "x", ("x",), "SELECT CAST((CAST((a) AS INT)) AS INT) + 1"),
    ("SELECT f(a)", "x", ("x",), "SELECT CAST((CAST((a) AS INT)) AS INT) AS `f`"),
    ("SELECT 1+f(f(a))", "x", ("x",), "SELECT 1+CAST((CAST((CAST((CAST((a) AS INT)) AS INT)) AS INT)) AS INT)"),
    ("SELECT 1+f(a,b)", "y-f.x-`Y`", ("x", "y"),
     "SELECT 1+CAST((CAST((b) AS INT)-CAST((a) AS INT)-CAST((b) AS INT)) AS INT)"),
    ("SELECT 1+f(a)", "7", ("x",), "SELECT 1+CAST((7) AS INT)"),
    ("SELECT 1+f((SELECT b FROM t)) FROM t u", "x", ("x",),
     "SELECT 1+CAST((CAST(((SELECT b FROM `s0` AS `t`)) AS INT)) AS INT) FROM `s1` u"),
    ("SELECT 1+f(a) FROM t", "EXISTS (SELECT 1 FROM s.x AS m WHERE m.k = x)", ("x",),
     "SELECT 1+(SELECT CAST((EXISTS (SELECT 1 FROM `s1` AS m WHERE m.k = x)\n) AS INT) "
     "FROM (SELECT CAST((a) AS INT) AS `__argument 0`) AS `f`(`x`)) FROM `s0` AS `t`"),
    ("SELECT f()", "(SELECT 1)", (), "SELECT (SELECT CAST(((SELECT 1)\n) AS INT)) AS `f`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "body", "parameters", "expected"), INLINED)
def test_the_body_takes_the_place_of_the_call(text: str, body: str, parameters: tuple[str, ...], expected: str) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    names = [f"s{number}" for number in range(9)]
    assert inlined(text, names, body, parameters) == expected


def test_a_default_stands_for_an_argument_that_is_not_given() -> None:
    assert inlined("SELECT 1+f()", [], "x", ("x",), ("42",)) == "SELECT 1+CAST((CAST((42) AS INT)) AS INT)"


@pytest.mark.parametrize(
    "body",
    ["y", "x.y.z + y", "t.x", "(SELECT y)", "y IN (SELECT 1)", "sum(x) OVER ()", "x, x", "x AS y", "*",
     ":p", "?",
     "transform(x, e -> e)", "x FROM t", "x WHERE TRUE"],
)  # fmt: skip
def test_no_body_of_a_function(body: str) -> None:
    with pytest.raises(BodyNotPossible):
        parse_body(body, ("x",), "f")


def test_an_argument_of_a_row() -> None:
    """An aggregate must not be moved into a separate query, where it would belong to that query."""
    for text in ("a", "t.a + 1", "CAST(a AS INT)", "CASE WHEN a IS NULL THEN 'x' END", "a AND NOT b", "-1", ":p"):
        assert is_of_row(text), text
    for text in ("max(a)", "f(a)", "1 + count(*)", "(SELECT 1)", "sum(a) OVER ()", "upper(a)"):
        assert not is_of_row(text), text


FREE: tuple[tuple[str, set[str]], ...] = (
    ("EXISTS (SELECT 1 FROM s.map m WHERE m.k = x AND map.v = f.x)", {"x", "map", "f"}),
    ("EXISTS (SELECT 1 FROM s.map AS m(a, b) WHERE m.a = b)", set()),
    ("(SELECT max(q.v) FROM (SELECT v AS w, v FROM t) q WHERE w > 1)", {"v"}),
    ("(WITH c(a) AS (SELECT k FROM t) SELECT max(a) FROM c WHERE c.a > 0)", {"k"}),
    ("(SELECT max(e) FROM t LATERAL VIEW explode(tags) g AS e)", {"tags"}),
    ("(SELECT count(*) FROM t JOIN u USING (k) WHERE t.s.field = 1)", {"t"}),
    ("(SELECT n FROM VALUES (1) AS v(n) ORDER BY n LIMIT 1)", set()),
    ("(SELECT row_number() OVER w AS r FROM t WINDOW w AS (ORDER BY k) LIMIT 1)", {"k"}),
    ("x IN (SELECT t.* FROM t)", {"x"}),
    ("(SELECT max(`K`) FROM t)", {"k"}),
    ("(SELECT max(k) FROM t WHERE a = current_user() AND b < current_date)", {"k", "a", "b", "current_date"}),
    ("(SELECT max(k) FROM t WHERE a = current_user)", {"k", "a", "current_user"}),
)


@pytest.mark.parametrize(("text", "expected"), FREE)
def test_names_that_a_body_does_not_declare(text: str, expected: set[str]) -> None:
    assert free_names(text) == expected
