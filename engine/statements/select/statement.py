"""Queries: what the text says, the relations that it names and their places in it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuery(Statement):
    """`DESCRIBE [QUERY] SELECT …`: the columns of the result, nothing runs."""

    inner: Query
