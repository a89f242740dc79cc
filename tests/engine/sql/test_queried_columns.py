"""Columns among a query's values, and these queries' positions in the text."""

from __future__ import annotations

import pytest

from engine.sql.expressions import queried_columns

CASES = [
    ("k IN (SELECT x FROM s)", [("k", "(SELECT x FROM s)")]),
    ("t.`a.b`.c IN (TABLE s)", [("t/a.b/c", "(TABLE s)")]),
    ("v > 1 AND (k IN (SELECT ')' FROM s) AND q > (SELECT 1))", [("k", "(SELECT ')' FROM s)")]),
    ("k in /* ( */ (WITH c AS (SELECT 1) SELECT * FROM c) -- )", [("k", "(WITH c AS (SELECT 1) SELECT * FROM c)")]),
    ("a IN (SELECT 1) AND b IN (SELECT x IN (SELECT 2) FROM s)", [
        ("a", "(SELECT 1)"),
        ("b", "(SELECT x IN (SELECT 2) FROM s)"),
    ]),
    ("k NOT IN (SELECT 1)", []),
    ("NOT (k IN (SELECT 1))", []),
    ("k IN (SELECT 1) OR v = 1", []),
    ("k IN (1, 2)", []),
    ("(k, v) IN (SELECT 1, 2)", []),
    ("k + 1 IN (SELECT 1)", []),
    ("(k IN (SELECT 1)) IS NULL", []),
    ("EXISTS (SELECT 1) AND k = (SELECT 1)", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_columns_in_queries(text: str, expected: list[tuple[str, str]]) -> None:
    found = [("/".join(path), text[span.start : span.end]) for path, span in queried_columns(text)]
    assert sorted(found) == sorted(expected)
