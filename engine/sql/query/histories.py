"""`(DESCRIBE HISTORY t [LIMIT n])` as a relation of a query, as in Databricks and delta-spark."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.dialect.dialect import HISTORY_LIMIT, SPAN
from engine.sql.query.relations import ensure_not_files, table_name
from engine.sql.query.values import HistoryOf, Relation, Span


def is_history(node: exp.Table) -> bool:
    return isinstance(node.this, exp.Anonymous) and HISTORY_LIMIT in node.this.meta


def read_history(node: exp.Table) -> Relation:
    """Returns the relation for a history. Rejects the names of files."""
    call = node.this
    (named,) = call.expressions
    parts = ("delta", named.name) if isinstance(named, exp.Literal) else table_name(named)[0]
    ensure_not_files(parts)
    limit = call.meta[HISTORY_LIMIT]
    return Relation(
        name_parts=parts,
        span=Span(*call.meta[SPAN]),
        alias=node.alias or None,
        history=HistoryOf(limit=None if limit is None else int(limit)),
    )
