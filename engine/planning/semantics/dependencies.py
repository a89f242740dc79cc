"""Dependencies on a column, which prevent changing the column.

Constraints and generation expressions are stored as SQL text: after a rename or drop they would be invalid, and after a
type change they would have another meaning.
"""

from __future__ import annotations

from catalog.conditions import ConstraintDependsOnColumn, GeneratedDependsOnColumn
from engine.binding.bound import BoundTable
from engine.sql.expressions import parse_expression
from engine.tables.column_metadata import GENERATION
from engine.types.schema_changes import resolve_path


def ensure_unused(table: BoundTable, path: tuple[str, ...]) -> None:
    """Raises if a constraint or a generated column uses a column that is renamed, retyped or dropped."""
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
    """Returns whether the expression uses the column, a part of it (not if only the `whole` counts), or its parent.

    Expressions do not name parts of arrays or maps; an expression with the array uses all of it.
    """
    wanted = [part.casefold() for part in path]
    used = ([part.casefold() for part in column] for column in parse_expression(expression).columns)
    return any(_is_beginning(each, wanted) and not (whole and len(each) > len(wanted)) for each in used)


def _is_beginning(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
