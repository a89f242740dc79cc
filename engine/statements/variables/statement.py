"""Statements about variables, and those that hold others: EXECUTE IMMEDIATE, the IDENTIFIER clause, SQL scripts.

Values before names are bound. The first family takes the road of every statement. The second never does: what it holds
is run statement by statement (`engine/script`), each down the road by itself. All expressions are queries of one row,
so that nothing is evaluated that was not bound, authorised and guarded.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.statements.insert.statement import MultiInsert
from engine.statements.select.statement import Query
from engine.statements.statement import OneStatement

Names = tuple[str, ...]
"""A dotted name, its parts as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareVariables:
    """`DECLARE [OR REPLACE] [VARIABLE] names [type] [DEFAULT|= expression]`, as the text that Spark reads."""

    text: str
    or_replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariables:
    """`SET VARIABLE (targets) = (source)`: the one row of `source`, or NULLs if it has none."""

    targets: tuple[Names, ...]
    source: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariable:
    """`DROP TEMPORARY VARIABLE [IF EXISTS] name`"""

    parts: Names
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateQuery:
    """The rows of a query, as values for variables and parameters; no text says it."""

    query: Query


VariableStatement = DeclareVariables | SetVariables | DropVariable | EvaluateQuery
SingleStatement = OneStatement | VariableStatement
"""All that is bound, authorised, planned and executed by itself."""

RoadStatement = SingleStatement | MultiInsert
