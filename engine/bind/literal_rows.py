"""Rows that are known when a statement is bound, as the text of a query: a view like any other.

All rows are one JSON literal, which Spark takes apart when it optimizes; so no second way for rows into Spark is
needed, and a condition on them runs no job.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from catalog.entries import ViewEntry
from engine.bind.bound import BoundView
from engine.statements.queries import Query

Columns = Sequence[tuple[str, str]]
"""Names with their types."""

_JSON_TYPES, _CASTS = {"timestamp": "bigint"}, {"timestamp": "timestamp_millis"}


def view_of_rows(
    entry: ViewEntry, columns: Columns, rows: Iterable[Sequence[object]], *, is_volatile: bool = False
) -> BoundView:
    """The view `entry` with these rows, whose values are those of JSON; timestamps in ms since the epoch."""
    named = [dict(zip((column for column, _ in columns), row, strict=True)) for row in rows]
    fields = ", ".join(f"{column}: {_JSON_TYPES.get(kind, kind)}" for column, kind in columns)
    shown = ", ".join(f"{_CASTS[kind]}({column}) AS {column}" if kind in _CASTS else column for column, kind in columns)
    text = f"SELECT {shown} FROM (SELECT inline(from_json({_literal(json.dumps(named))}, 'ARRAY<STRUCT<{fields}>>')))"
    return BoundView(entry=entry, query=Query(text=text), relations=(), is_volatile=is_volatile)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
