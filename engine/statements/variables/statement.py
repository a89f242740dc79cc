"""Define the statements about session variables, and the queries of one row that scripts evaluate.

All expressions are queries of one row, so that nothing is evaluated that was not bound, authorized and guarded.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Query

Names = tuple[str, ...]
"""A dotted name, its parts as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareVariables(Statement):
    """`DECLARE [OR REPLACE] [VARIABLE] names [type] [DEFAULT|= expression]`, as the text that Spark reads."""

    text: str
    or_replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariables(Statement):
    """`SET VARIABLE (targets) = (source)`: the one row of `source`, or NULLs if it has none."""

    targets: tuple[Names, ...]
    source: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariable(Statement):
    """`DROP TEMPORARY VARIABLE [IF EXISTS] name`"""

    parts: Names
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateQuery(Statement):
    """The rows of a query, as values for variables and parameters; no text says it."""

    query: Query
