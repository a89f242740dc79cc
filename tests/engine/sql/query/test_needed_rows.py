"""Rows that a query needs from its one relation, by its text."""

from __future__ import annotations

import pytest

from engine.pruning.predicates import Column, Compare, In, Literal, Operator, Or, Predicate
from engine.sql.query.values import NeededRows, Query
from engine.statements.parse import parse
from engine.types.schema import PrimitiveType

NOON_US = 19_724 * 86_400_000_000 + 12 * 3_600_000_000


def equal(name: str, value: int | str) -> Compare:
    return Compare(Operator.EQUAL, Column((name,)), Literal.of(value))


def noon(us: int) -> Compare:
    return Compare(Operator.LESS, Column(("at",)), Literal(NOON_US + us, PrimitiveType.TIMESTAMP_NTZ))


A, B, C = equal("a", 1), equal("b", "x"), equal("c", 3)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("SELECT * FROM s.t WHERE a = 1 AND f(b) > 2 AND (t.b = 'x' AND c = 3)", (A, B, C)),
        ("FROM t WHERE a = 1 OR b = 'x'", (Or((A, B)),)),
        ("SELECT * FROM t WHERE a = 1 OR f(b)", ()),
        ("SELECT x.a FROM t VERSION AS OF 3 AS x WHERE x.a IN (1, 2)", "in"),
        ("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a HAVING a > 2 ORDER BY a LIMIT 3", (A,)),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-01-02 12:00:00.5'", (noon(500_000),)),
        ("SELECT * FROM t WHERE at < CAST('2024-01-02 12:00' AS TIMESTAMP_NTZ)", (noon(0),)),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-01-02 12:00:00 UTC'", ()),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-13-02'", ()),
        # Queries around the one that reads the table
        ("SELECT b FROM (SELECT * FROM (SELECT * FROM t WHERE a = 1) WHERE b = 'x') WHERE c = 3", (A,)),
        ("WITH r AS (SELECT * FROM t WHERE a = 1) SELECT * FROM r JOIN r AS o USING (a) WHERE o.b = 'x'", (A,)),
        ("WITH r AS (SELECT 1 AS a), q AS (SELECT * FROM t WHERE a = 1) SELECT * FROM q", ()),
        ("WITH r AS (SELECT id AS a FROM range(3) WHERE id = 1) SELECT * FROM t", ()),
        ("SELECT (SELECT max(b) FROM t) FROM (SELECT 1 AS a) WHERE a = 1", ()),
        # Sources whose rows a condition may be about
        ("SELECT * FROM t, range(3) AS r WHERE a = 1", ()),
        ("SELECT * FROM t LEFT JOIN (SELECT 1 AS a) AS r ON true WHERE a = 1", ()),
        ("SELECT * FROM t LATERAL VIEW explode(x) AS a WHERE a = 1", ()),
        ("SELECT * FROM t AS x(b, a) WHERE a = 1", ()),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT) WHERE a = 1", ()),
        ("SELECT * FROM t WHERE a = 1 UNION ALL SELECT * FROM range(3)", ()),
        ("SELECT * FROM t WHERE a = 1 AND b IN (SELECT b FROM u)", ()),
        # A limit excludes no metadata: statistics about its rows may be wrong
        ("SELECT * FROM t LIMIT 10", ()),
        ("SELECT * FROM t WHERE a = 1 LIMIT 10", (A,)),
    ],
)
def test_needed_rows(text: str, conditions: tuple[Predicate, ...] | str) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    expected: object = conditions
    if conditions == "in":
        expected = (In(Column(("a",)), (Literal.of(1), Literal.of(2))),)
    found = query.needed or NeededRows()
    assert found.conditions == expected
    assert (query.needed is None) == (not conditions), "all files are looked for"
