"""Text → OPTIMIZE and REORG TABLE, and errors."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.statements.maintenance.statement import Optimize, Reorg
from engine.statements.parse import parse

STATEMENTS: list[tuple[str, Optimize | Reorg]] = [
    ("OPTIMIZE t", Optimize(table_parts=("t",))),
    ("optimize c.s.t;", Optimize(table_parts=("c", "s", "t"))),
    ("OPTIMIZE '/lake/t'", Optimize(table_parts=("delta", "/lake/t"))),
    ("OPTIMIZE delta.`/lake/t` FULL", Optimize(table_parts=("delta", "/lake/t"), full=True)),
    ("OPTIMIZE t WHERE p = 1 AND q IN (2, 3)", Optimize(table_parts=("t",), condition="p = 1 AND q IN (2, 3)")),
    (
        "OPTIMIZE t WHERE p > '2024' ZORDER BY (a, s.b)",
        Optimize(table_parts=("t",), condition="p > '2024'", zorder_by=(("a",), ("s", "b"))),
    ),
    ("OPTIMIZE t ZORDER BY a, `b c`", Optimize(table_parts=("t",), zorder_by=(("a",), ("b c",)))),
    ("REORG TABLE t APPLY (PURGE)", Reorg(table_parts=("t",))),
    ("reorg table s.t where p = 1 apply (purge)", Reorg(table_parts=("s", "t"), condition="p = 1")),
]

REFUSED = [
    ("OPTIMIZE", "PARSE_SYNTAX_ERROR"),
    ("OPTIMIZE t WHERE", "PARSE_SYNTAX_ERROR"),
    ("OPTIMIZE t ZORDER BY ()", "PARSE_SYNTAX_ERROR"),
    ("OPTIMIZE t ZORDER BY (a) WHERE p = 1", "PARSE_SYNTAX_ERROR"),
    ("OPTIMIZE t VERSION AS OF 1", "PARSE_SYNTAX_ERROR"),
    ("REORG TABLE t", "PARSE_SYNTAX_ERROR"),
    ("REORG TABLE t APPLY PURGE", "PARSE_SYNTAX_ERROR"),
    ("REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))", "UNSUPPORTED_STATEMENT"),
]


@pytest.mark.parametrize(("text", "statement"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_maintenance_statements(text: str, statement: Optimize | Reorg) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(("text", "condition"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused_maintenance_statements(text: str, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert caught.value.condition == condition
