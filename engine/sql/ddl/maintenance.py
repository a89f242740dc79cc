"""OPTIMIZE and REORG TABLE (the grammar of Delta's own parser)."""

from __future__ import annotations

from engine.sql.ddl.clauses import read_dotted_list
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import UnsupportedStatement
from engine.sql.query.names import read_table_or_path
from engine.statements.maintenance import Optimize, Reorg

_CONDITION = "a condition"


def parse_optimize(cursor: Cursor) -> Optimize:
    """What follows OPTIMIZE: `t [FULL] [WHERE condition] [ZORDER BY (a, b.c)]`."""
    table = read_table_or_path(cursor)
    full = cursor.take("FULL")
    condition = cursor.read_text(("ZORDER", "BY"), what=_CONDITION) if cursor.take("WHERE") else None
    columns = _read_columns(cursor) if cursor.take("ZORDER", "BY") else ()
    return Optimize(table_parts=table, condition=condition, zorder_by=columns, full=full)


def parse_reorg(cursor: Cursor) -> Reorg:
    """What follows REORG TABLE: `t [WHERE condition] APPLY (PURGE)`."""
    table = read_table_or_path(cursor)
    condition = cursor.read_text(("APPLY",), what=_CONDITION) if cursor.take("WHERE") else None
    cursor.read("APPLY")
    cursor.read("(")
    if cursor.take("UPGRADE", "UNIFORM"):
        raise UnsupportedStatement("REORG TABLE … APPLY (UPGRADE UNIFORM)")
    cursor.read("PURGE")
    cursor.read(")")
    return Reorg(table_parts=table, condition=condition)


def _read_columns(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    """A list in parentheses or without."""
    if cursor.words(1) == ["("]:
        return read_dotted_list(cursor)
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return tuple(columns)
