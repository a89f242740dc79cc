"""Assignments of UPDATE and MERGE: what each column of a changed row becomes.

A column that is not assigned keeps its value, but for a generated one, which is computed again from the new row; one
that is assigned DEFAULT is left to the table, as in an INSERT that does not give it. Where fields of a struct are
assigned, the struct is made again of these and its other fields; a struct that was NULL then is one of NULLs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from catalog.names import fold, quote
from engine.bind.bound import BoundTable
from engine.errors.change_errors import (
    ConflictingAssignments,
    FieldOfNonStruct,
    IdentityUpdated,
    UnsupportedInAssignment,
)
from engine.errors.column_errors import ColumnNotFound
from engine.errors.expression_errors import AggregateOfRow
from engine.errors.statement_errors import StatementNotSupported
from engine.plans.expression_checks import Dependency, Refusals
from engine.statements.writes import Assignment
from engine.table.rules import TableRules
from engine.types.schema import DataType, StructField, StructType
from engine.types.sql_types import format_sql_type

Tree = int | dict[str, "Tree"]
"""The number of an assignment, or what the fields of a struct become, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewValues:
    """`columns` are those whose values the statement says: an assigned one, or an old value that stays."""

    columns: tuple[StructField, ...]
    trees: Mapping[str, Tree]
    """Column -> what of it is assigned; the others stay."""

    @property
    def kept(self) -> tuple[StructField, ...]:
        """The columns whose old values are needed."""
        return tuple(column for column in self.columns if not isinstance(self.trees.get(column.name), int))

    def items(self, given: Sequence[str], old: Sequence[str]) -> list[str]:
        """SQL of the `columns`: `given` are names of the assigned values, `old` of those of `kept`."""
        known = dict(zip((column.name for column in self.kept), old, strict=True))
        return [
            _value(column.data_type, known.get(column.name, ""), self.trees.get(column.name), given)
            for column in self.columns
        ]


def assigned_values(
    table: BoundTable, config: TableRules, assignments: Sequence[Assignment], alias: str | None
) -> NewValues:
    """New values of rows of `table`, whose definition is `config` by then.

    Raises for columns that are not there, are assigned twice, or cannot be.
    """
    trees: dict[str, Tree] = {}
    defaults: set[str] = set()
    for number, assignment in enumerate(assignments):
        path = own_path(table, config.schema, assignment.path, alias)
        column, *fields = _resolved(config.schema, path)
        if column.name in {identity.name for identity in config.identities}:
            raise IdentityUpdated(column.name)
        names = [field.name for field in (column, *fields)]
        _add(trees, names, number)
        if assignment.is_default and fields:
            raise StatementNotSupported(f"DEFAULT for the field {'.'.join(names)}")
        if assignment.is_default:
            defaults.add(column.name)
    return NewValues(columns=tuple(_said(config, trees, defaults)), trees=trees)


def assignment_refusals(clause: str) -> Refusals:
    """What new values cannot depend on: anything but one row. They are made once, so they may be random."""
    unsupported = partial(UnsupportedInAssignment, clause)
    return {
        Dependency.AGGREGATE: partial(AggregateOfRow, f"A value of {clause}"),
        Dependency.WINDOW: unsupported,
        Dependency.GENERATOR: unsupported,
    }


def _said(config: TableRules, trees: Mapping[str, Tree], defaults: set[str]) -> Iterator[StructField]:
    for column in config.schema.fields:
        is_left = column.name in defaults or (column.name not in trees and column.name in config.generations)
        if not is_left:
            yield column


def own_path(table: BoundTable, schema: StructType, parts: tuple[str, ...], alias: str | None) -> tuple[str, ...]:
    """Without the table, or its alias, in front."""
    return without_qualifier([alias] if alias is not None else table.name.parts if table.name else (), schema, parts)


def without_qualifier(full: Sequence[str], schema: StructType, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Without the end of a relation's name in front, if a column of that name follows."""
    for count in range(len(full), 0, -1):
        is_qualified = [fold(part) for part in parts[:count]] == [fold(part) for part in full[-count:]]
        if len(parts) > count and is_qualified and schema.field(parts[count]) is not None:
            return parts[count:]
    return parts


def _resolved(schema: StructType, path: Sequence[str]) -> list[StructField]:
    """The column, and the fields below it that the path names."""
    found: list[StructField] = []
    data_type: DataType = schema
    for name in path:
        if not isinstance(data_type, StructType):
            raise FieldOfNonStruct(".".join(field.name for field in found), format_sql_type(data_type))
        field = data_type.field(name)
        if field is None:
            raise ColumnNotFound(".".join(path), ", ".join(data_type.names))
        found.append(field)
        data_type = field.data_type
    return found


def _add(trees: dict[str, Tree], names: Sequence[str], number: int) -> None:
    *parents, last = names
    level = trees
    for parent in parents:
        below = level.setdefault(parent, {})
        if isinstance(below, int):
            raise ConflictingAssignments(".".join(names))
        level = below
    if last in level:
        raise ConflictingAssignments(".".join(names))
    level[last] = number


def _value(data_type: DataType, old: str, tree: Tree | None, given: Sequence[str]) -> str:
    if tree is None:
        return old
    if isinstance(tree, int):
        return given[tree]
    assert isinstance(data_type, StructType)
    parts = []
    for field in data_type.fields:
        literal = field.name.replace("\\", "\\\\").replace("'", "\\'")
        value = _value(field.data_type, f"{old}.{quote(field.name)}", tree.get(field.name), given)
        parts.append(f"'{literal}', {value}")
    return f"named_struct({', '.join(parts)})"
