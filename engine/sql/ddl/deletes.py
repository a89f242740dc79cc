"""DELETE (Spark's `deleteFromTable` rule)."""

from __future__ import annotations

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import UnsupportedClause
from engine.sql.query.names import read_table
from engine.statements.writes import Delete


def parse_delete(cursor: Cursor) -> Delete:
    """What follows DELETE FROM: `t [[AS] alias] [WHERE condition]`."""
    table = read_table(cursor)
    if cursor.words(2) == ["WITH", "("]:
        raise UnsupportedClause("WITH (…) after the table of a DELETE", "Use settings of the session instead.")
    alias = cursor.read_name() if cursor.take("AS") or (cursor.is_name() and cursor.words(1) != ["WHERE"]) else None
    condition = cursor.read_text(what="a condition") if cursor.take("WHERE") else None
    return Delete(table_parts=table, alias=alias, condition=condition)
