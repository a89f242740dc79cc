"""Checks of an expression before a table gets it, and of rows before a constraint is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.conditions import RowsViolateConstraint, RowsViolateNotNull, SparkFailure
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan


class Dependency(StrEnum):
    """On what else than one row of its relations the value of an expression may depend."""

    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    NON_DETERMINISTIC = "non_deterministic"
    CLOCK = "clock"
    SESSION = "session"


NewRuleViolated = RowsViolateConstraint | RowsViolateNotNull
Refusals = Mapping[Dependency, Callable[[str], SqlError]]


"""Dependency -> the error for an expression (SQL) that has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCheck:
    """An expression (SQL, in parentheses) that has none of the dependencies that are `refused`.

    `mistyped` may object to its type (SQL's spelling). `translated` may make another error of one that Spark raised.
    `value` is SQL without columns that must have a value, if it is given.
    """

    text: str
    mistyped: Callable[[str], SqlError | None]
    refused: Refusals = field(default_factory=lambda: MappingProxyType({}))
    translated: Callable[[SparkFailure], SqlError] = lambda failure: failure
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCheckPlan:
    """`over` is the relation that the expressions refer to; its text begins with FROM."""

    over: ReadPlan
    checks: tuple[ExpressionCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCheck:
    """A query that has none of the dependencies that are `refused`, but for its subqueries."""

    read: ReadPlan
    refused: Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChecks:
    """`read` answers one row: for each of `refusals` how many rows it is raised for."""

    read: ReadPlan
    refusals: tuple[NewRuleViolated, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The types (in SQL's spelling) of a query's columns, and for each dependency that it has an expression (SQL)."""

    types: tuple[str, ...]
    dependencies: Mapping[Dependency, str]
