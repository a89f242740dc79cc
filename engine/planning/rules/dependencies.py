"""What in a table is computed from a column, so that the column cannot be another one.

Constraints and generated columns are kept as SQL text, so that a renamed or dropped column would leave them without
meaning, and one of another type would give them another.
"""

from __future__ import annotations

from catalog.conditions import ConstraintDependsOnColumn, GeneratedDependsOnColumn
from engine.binding.bound import BoundTable
from engine.sql.expressions import parse_expression
from engine.tables.column_metadata import GENERATION
from engine.types.schema_changes import resolve_path


def ensure_unused(table: BoundTable, path: tuple[str, ...]) -> None:
    """No constraint and no generated column may use a column that gets another name or type, or goes."""
    snapshot = table.snapshot
    found = resolve_path(snapshot.schema, path)
    constraints = [constraint.name for constraint in snapshot.checks if uses(constraint.expression, found)]
    if constraints:
        raise ConstraintDependsOnColumn(".".join(found), ", ".join(constraints))
    generated = [
        field.name
        for field in snapshot.schema.fields
        if isinstance(field.metadata.get(GENERATION), str) and uses(field.metadata[GENERATION], found)
    ]
    if generated:
        raise GeneratedDependsOnColumn(".".join(found), ", ".join(generated))


def uses(expression: str, path: tuple[str, ...], *, whole: bool = False) -> bool:
    """Whether the expression has the column, something in it (not if only the `whole` counts), or around it.

    Expressions do not name what is inside of an array or a map; who has the array has all of it.
    """
    wanted = [part.casefold() for part in path]
    used = ([part.casefold() for part in column] for column in parse_expression(expression).columns)
    return any(_is_beginning(each, wanted) and not (whole and len(each) > len(wanted)) for each in used)


def _is_beginning(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
