"""Which rows of its one relation a query needs by its text."""

from __future__ import annotations

import pytest

from engine.pruning.predicates import Column, Compare, In, Literal, Operator, Or, Predicate
from engine.sql.parser import parse
from engine.statements.queries import NeededRows, Query
from engine.types.schema import PrimitiveType

NOON_US = 19_724 * 86_400_000_000 + 12 * 3_600_000_000


def equal(name: str, value: int | str) -> Compare:
    return Compare(Operator.EQUAL, Column((name,)), Literal.of(value))


def noon(us: int) -> Compare:
    return Compare(Operator.LESS, Column(("at",)), Literal(NOON_US + us, PrimitiveType.TIMESTAMP_NTZ))


A, B, C = equal("a", 1), equal("b", "x"), equal("c", 3)


@pytest.mark.parametrize(
    ("text", "conditions", "limit"),
    [
        ("SELECT * FROM s.t WHERE a = 1 AND f(b) > 2 AND (t.b = 'x' AND c = 3)", (A, B, C), None),
        ("FROM t WHERE a = 1 OR b = 'x'", (Or((A, B)),), None),
        ("SELECT * FROM t WHERE a = 1 OR f(b)", (), None),
        ("SELECT x.a FROM t VERSION AS OF 3 AS x WHERE x.a IN (1, 2)", "in", None),
        ("SELECT a, count(*) FROM t WHERE a = 1 GROUP BY a HAVING a > 2 ORDER BY a LIMIT 3", (A,), None),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-01-02 12:00:00.5'", (noon(500_000),), None),
        ("SELECT * FROM t WHERE at < CAST('2024-01-02 12:00' AS TIMESTAMP_NTZ)", (noon(0),), None),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-01-02 12:00:00 UTC'", (), None),
        ("SELECT * FROM t WHERE at < TIMESTAMP'2024-13-02'", (), None),
        # Queries around the one that reads the table
        ("SELECT b FROM (SELECT * FROM (SELECT * FROM t WHERE a = 1) WHERE b = 'x') WHERE c = 3", (A,), None),
        ("WITH r AS (SELECT * FROM t WHERE a = 1) SELECT * FROM r JOIN r AS o USING (a) WHERE o.b = 'x'", (A,), None),
        ("WITH r AS (SELECT 1 AS a), q AS (SELECT * FROM t WHERE a = 1) SELECT * FROM q", (), None),
        ("WITH r AS (SELECT id AS a FROM range(3) WHERE id = 1) SELECT * FROM t", (), None),
        ("SELECT (SELECT max(b) FROM t) FROM (SELECT 1 AS a) WHERE a = 1", (), None),
        # Sources whose rows a condition may be about
        ("SELECT * FROM t, range(3) AS r WHERE a = 1", (), None),
        ("SELECT * FROM t LEFT JOIN (SELECT 1 AS a) AS r ON true WHERE a = 1", (), None),
        ("SELECT * FROM t LATERAL VIEW explode(x) AS a WHERE a = 1", (), None),
        ("SELECT * FROM t AS x(b, a) WHERE a = 1", (), None),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT) WHERE a = 1", (), None),
        ("SELECT * FROM t WHERE a = 1 UNION ALL SELECT * FROM range(3)", (), None),
        ("SELECT * FROM t WHERE a = 1 AND b IN (SELECT b FROM u)", (), None),
        # Limits
        ("SELECT *, a AS b, t.c FROM t LIMIT 10 OFFSET 5", (), 15),
        ("SELECT * FROM t LIMIT 0", (), 0),
        ("SELECT * FROM t LIMIT ALL", (), None),
        ("SELECT * FROM t LIMIT 1 + 1", (), None),
        ("SELECT * FROM t OFFSET 3", (), None),
        ("SELECT * FROM (SELECT * FROM t LIMIT 10)", (), None),
        ("SELECT * FROM t WHERE f(a) LIMIT 10", (), None),
        ("SELECT * FROM t ORDER BY a LIMIT 10", (), None),
        ("SELECT DISTINCT a FROM t LIMIT 10", (), None),
        ("SELECT explode(a) FROM t LIMIT 10", (), None),
        ("SELECT max(a) FROM t LIMIT 10", (), None),
        ("SELECT a FROM t GROUP BY a LIMIT 10", (), None),
    ],
)
def test_needed_rows(text: str, conditions: tuple[Predicate, ...] | str, limit: int | None) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    expected: object = conditions
    if conditions == "in":
        expected = (In(Column(("a",)), (Literal.of(1), Literal.of(2))),)
    found = query.needed or NeededRows()
    assert (found.conditions, found.limit) == (expected, limit)
