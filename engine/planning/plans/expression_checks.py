"""Checks on an expression before it is stored in a table, and on rows before a constraint is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.conditions import RowsViolateConstraint, RowsViolateNotNull, SparkFailure
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan


class Dependency(StrEnum):
    """A dependency of an expression's value on something other than one row of its relations."""

    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    NON_DETERMINISTIC = "non_deterministic"
    CLOCK = "clock"
    SESSION = "session"


NewConstraintViolated = RowsViolateConstraint | RowsViolateNotNull
# Dependency -> the error for an expression (SQL) that has it.
Refusals = Mapping[Dependency, Callable[[str], SqlError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCheck:
    """An expression (SQL, in parentheses) that must have none of the `refused` dependencies.

    `mistyped` may reject its type (SQL's spelling). `translated` may translate an error that Spark raised. `value` is
    SQL without columns that must evaluate to a value, if it is given.
    """

    text: str
    mistyped: Callable[[str], SqlError | None]
    refused: Refusals = field(default_factory=lambda: MappingProxyType({}))
    translated: Callable[[SparkFailure], SqlError] = lambda failure: failure
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCheckPlan:
    """Checks for several expressions. `over` is the relation that they refer to; its text begins with FROM."""

    over: ReadPlan
    checks: tuple[ExpressionCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCheck:
    """A query that must have none of the `refused` dependencies, except in its subqueries."""

    read: ReadPlan
    refused: Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChecks:
    """Checks on existing rows. `read` returns one row: for each of `refusals` the number of violating rows."""

    read: ReadPlan
    refusals: tuple[NewConstraintViolated, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The types (in SQL's spelling) of a query's columns, and for each dependency that it has an expression (SQL)."""

    types: tuple[str, ...]
    dependencies: Mapping[Dependency, str]
