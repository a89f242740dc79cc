"""What in a table is computed from a column, so that the column cannot be another one.

Constraints and generated columns are kept as SQL text, so that a renamed or dropped column would leave them without
meaning, and one of another type would give them another.
"""

from __future__ import annotations

from engine.alter_errors import ConstraintDependsOnColumn, GeneratedDependsOnColumn
from engine.bound import BoundTable
from engine.delta.constraints import check_constraints
from engine.delta.schema_changes import resolve_path
from engine.plan.new_tables import GENERATION
from engine.sql.expressions import parse_expression


def ensure_unused(table: BoundTable, path: tuple[str, ...]) -> None:
    """No constraint and no generated column may use a column that gets another name or type, or goes."""
    snapshot = table.snapshot
    found = resolve_path(snapshot.schema, path)
    constraints = [
        constraint.name
        for constraint in check_constraints(snapshot.metadata.configuration)
        if _uses(constraint.expression, found)
    ]
    if constraints:
        raise ConstraintDependsOnColumn(".".join(found), ", ".join(constraints))
    generated = [
        field.name
        for field in snapshot.schema.fields
        if isinstance(field.metadata.get(GENERATION), str) and _uses(field.metadata[GENERATION], found)
    ]
    if generated:
        raise GeneratedDependsOnColumn(".".join(found), ", ".join(generated))


def _uses(expression: str, path: tuple[str, ...]) -> bool:
    """Whether the expression has the column, something in it, or something around it."""
    wanted = [part.casefold() for part in path]
    return any(
        _is_beginning([part.casefold() for part in used], wanted) for used in parse_expression(expression).columns
    )


def _is_beginning(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
