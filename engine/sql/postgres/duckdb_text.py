"""The text of a rewritten catalog query for DuckDB."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB


class _Text(DuckDB):
    # Subscripts are written as they are.
    INDEX_OFFSET = 0


def duckdb_text(tree: exp.Expr) -> str:
    """Returns the query's text."""
    return str(tree.sql(dialect=_Text(), comments=False))
