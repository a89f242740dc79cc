"""Checks of a table's existing rows before a new constraint is added: one query for all constraints."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.conditions import RowsViolateConstraint, RowsViolateNotNull
from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import NewRuleViolated, RowChecks
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import scan_of
from engine.sql.expressions import parse_expression
from engine.sql.query.composed import Names


def plan_row_checks(
    table: BoundTable, constraints: Sequence[tuple[str, str]], not_nulls: Sequence[tuple[str, ...]]
) -> RowChecks | None:
    """The rows that break a constraint (name, expression: false or null), or have no value in a column."""
    broken: list[tuple[str, NewRuleViolated]] = []
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


def ensure_kept(checks: RowChecks, counts: Sequence[int]) -> None:
    """Raises for the first rule that rows break; `counts` is the row that the query answered."""
    for refusal, rows in zip(checks.refusals, counts, strict=True):
        if rows:
            refusal.rows = rows
            raise refusal
