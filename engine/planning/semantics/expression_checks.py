"""Analysis by Spark for an expression that becomes a table's rule, or a condition that selects rows.

Only Spark can determine whether an expression can be evaluated, its type, and its dependencies. For an
`ExpressionCheck` Spark analyzes the expression over an empty relation; only constants are evaluated. All checks in a
statement are analyzed as one query, and individually only if it fails, to find the failing one.

`plan_row_checks` checks a table's existing rows before constraints are added: one query for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from catalog.conditions import RowsViolateConstraint, RowsViolateNotNull, SparkFailure
from catalog.errors import SqlError
from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import (
    Dependency,
    Examination,
    ExpressionCheck,
    ExpressionCheckPlan,
    NewConstraintViolated,
    QueryCheck,
    RowChecks,
)
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import scan_of
from engine.sql.expressions import parse_expression
from engine.sql.query.composed import Names
from engine.sql.query.source_text import join_texts


class ExpressionAnalyzer(Protocol):
    """An interface to Spark."""

    def examine(self, plan: ReadPlan) -> Examination:
        """Analyzes `plan`."""

    def compute(self, plan: ReadPlan) -> None:
        """Runs `plan` for its errors."""


# Spark's error conditions for an aggregate next to columns.
_UNGROUPED = frozenset({"MISSING_AGGREGATION", "MISSING_GROUP_BY"})

# Spark's error condition if it rejects a nondeterministic expression itself, for example in a join.
_RANDOM = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"


def ensure_checked(plan: ExpressionCheckPlan, analyzer: ExpressionAnalyzer) -> None:
    """Raises for the first expression that does not pass its check, or Spark's error for it."""
    try:
        found = analyzer.examine(_check_query(plan, plan.checks))
        is_fine = all(_objection(check, found, at) is None for at, check in enumerate(plan.checks))
    except SparkFailure:
        is_fine = False
    if not is_fine:
        for check in plan.checks:
            _ensure_fine(check, plan, analyzer)
    for check in plan.checks:
        if check.value is not None:
            _ensure_value(check, check.value, analyzer)


def ensure_examined(check: QueryCheck, analyzer: ExpressionAnalyzer) -> None:
    """Raises for the query's dependencies, or Spark's error for it."""
    try:
        found = analyzer.examine(check.read)
    except SparkFailure as failure:
        if failure.condition in _UNGROUPED and Dependency.AGGREGATE in check.refused:
            raise check.refused[Dependency.AGGREGATE]("function beside columns") from failure
        if failure.condition == _RANDOM and Dependency.NON_DETERMINISTIC in check.refused:
            raise check.refused[Dependency.NON_DETERMINISTIC]("a function") from failure
        raise
    for dependency, make in check.refused.items():
        if dependency in found.dependencies:
            raise make(found.dependencies[dependency])


def _check_query(plan: ExpressionCheckPlan, checks: Sequence[ExpressionCheck]) -> ReadPlan:
    columns: list[str] = []
    for number, check in enumerate(checks):
        columns += [", " if columns else "SELECT ", check.text, f" AS c{number}"]
    return replace(plan.over, text=join_texts((*columns, f" {plan.over.text}")))


def _objection(check: ExpressionCheck, found: Examination, at: int) -> SqlError | None:
    for dependency, make in check.refused.items():
        if dependency in found.dependencies:
            return make(found.dependencies[dependency])
    return check.mistyped(found.types[at])


def _ensure_fine(check: ExpressionCheck, plan: ExpressionCheckPlan, analyzer: ExpressionAnalyzer) -> None:
    try:
        objection = _objection(check, analyzer.examine(_check_query(plan, [check])), 0)
    except SparkFailure as failure:
        if failure.condition in _UNGROUPED and Dependency.AGGREGATE in check.refused:
            raise check.refused[Dependency.AGGREGATE](check.text) from failure
        raise check.translated(failure) from failure
    if objection is not None:
        raise objection


def _ensure_value(check: ExpressionCheck, value: str, analyzer: ExpressionAnalyzer) -> None:
    try:
        analyzer.compute(ReadPlan(text=join_texts(("SELECT ", value)), scans=()))
    except SparkFailure as failure:
        raise check.translated(failure) from failure


def plan_row_checks(
    table: BoundTable, constraints: Sequence[tuple[str, str]], not_nulls: Sequence[tuple[str, ...]]
) -> RowChecks | None:
    """Plans a count of rows that violate a constraint (name, expression: false or null), or have a null in a column."""
    broken: list[tuple[str, NewConstraintViolated]] = []
    for name, text in constraints:
        condition = parse_expression(text).in_parentheses
        broken.append((f"{condition} IS NOT TRUE", RowsViolateConstraint(table.label, name, text)))
    for path in not_nulls:
        column = ".".join(map(quote, path))
        broken.append((f"{column} IS NULL", RowsViolateNotNull(table.label, ".".join(path))))
    if not broken:
        return None
    counts = ", ".join(f"count_if({condition})" for condition, _ in broken)
    scan = scan_of(Names((counts, *table.snapshot.schema.names)).new("scan"), table)
    read = ReadPlan(text=f"SELECT {counts} FROM {scan.relation}", scans=(scan,))
    return RowChecks(read=read, refusals=tuple(refusal for _, refusal in broken))


def ensure_satisfied(checks: RowChecks, counts: Sequence[int]) -> None:
    """Raises for the first violated rule; `counts` is the query's result row."""
    for refusal, rows in zip(checks.refusals, counts, strict=True):
        if rows:
            refusal.rows = rows
            raise refusal
