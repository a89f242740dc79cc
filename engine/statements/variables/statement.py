"""Statements about session variables, and the queries with one row that scripts evaluate.

All expressions are queries with one row, so that everything evaluated is bound, authorized and enforced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Query

# A dotted name, its parts as written.
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareVariables(Statement):
    """`DECLARE [OR REPLACE] [VARIABLE] names [type] [DEFAULT|= expression]`: `text` for Spark up to `default`."""

    text: str
    default: str = field(default="", metadata=EXPRESSION)
    or_replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariables(Statement):
    """`SET VARIABLE (targets) = (source)`: the single row in `source`, or NULLs if it has none."""

    targets: tuple[Names, ...]
    source: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariable(Statement):
    """`DROP TEMPORARY VARIABLE [IF EXISTS] name`"""

    parts: Names
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateQuery(Statement):
    """A query's rows as values for variables and parameters; it has no SQL syntax."""

    query: Query
