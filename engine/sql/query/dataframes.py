"""Queries over DataFrame plans."""

from __future__ import annotations

from engine.runtime.dataframe import DataFramePlan
from engine.sql.query.values import Query, Relation, Span

_NAME = "gateway_dataframe"
_TEXT = f"SELECT * FROM {_NAME}"
_SPAN = Span(len(_TEXT) - len(_NAME), len(_TEXT))


def dataframe_query(plan: DataFramePlan) -> Query:
    """Returns a query with the rows of `plan`, for the statements that take one: DESCRIBE QUERY, EXPLAIN, a temporary
    view.
    """
    relation = Relation(name_parts=(_NAME,), span=_SPAN, alias_at=_SPAN.end, frame=plan)
    return Query(text=_TEXT, relations=(relation,))
