"""UPDATE and MERGE assignments: the new value of each column in a changed row.

An unassigned column keeps its value, except a generated one, which is recomputed from the new row; DEFAULT leaves the
column to the table, like an INSERT without the column. If struct fields are assigned, the struct is rebuilt from them
and its other fields; a NULL struct becomes a struct with NULL fields. If a MERGE evolves the schema, UPDATE SET * keeps
the struct fields that the source's struct does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from catalog.conditions import (
    AggregateOfRow,
    ConflictingAssignments,
    FieldOfNonStruct,
    IdentityUpdated,
    StatementNotSupported,
    UnsupportedInAssignment,
)
from catalog.names import fold, quote
from engine.binding.bound import BoundTable
from engine.errors.table_errors import column_not_found
from engine.planning.plans.expression_checks import Dependency, Refusals
from engine.sql.query.values import Assignment
from engine.tables.config import TableConfig
from engine.types.schema import DataType, StructField, StructType
from engine.types.sql_types import format_sql_type

# An assignment's number, or new values for struct fields, by name.
Tree = int | dict[str, "Tree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewValues:
    """New row values. `columns` have a value in the statement: assigned, or an old value that stays; `before` is the
    schema for the old values.
    """

    columns: tuple[StructField, ...]
    # Column -> its assigned parts; other parts stay.
    trees: Mapping[str, Tree]
    before: StructType
    # Column -> type of the struct that is assigned to it; old fields missing from this type stay.
    given: Mapping[str, DataType] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def old_columns(self) -> tuple[StructField, ...]:
        """Returns the columns whose old values are needed."""
        return tuple(
            column
            for column in self.columns
            if column.name in self.given or not isinstance(self.trees.get(column.name), int)
        )

    def with_unassigned_fields(self, assigned: Iterable[StructField]) -> NewValues:
        """Keeps struct fields that are missing in the `assigned` values, which are matched by column name."""
        pairs = [(self.before.field(each.name), each.data_type) for each in assigned]
        given = {own.name: type_ for own, type_ in pairs if own is not None and _lacks_field(own.data_type, type_)}
        return replace(self, given=MappingProxyType(given))

    def items(self, given: Sequence[str], old: Sequence[str]) -> list[str]:
        """Returns SQL for the `columns`: `given` are names for the assigned values, `old` names for `old_columns`."""
        known = dict(zip((column.name for column in self.old_columns), old, strict=True))
        return [self._item(column, known.get(column.name, ""), given) for column in self.columns]

    def _item(self, column: StructField, old: str, given: Sequence[str]) -> str:
        own = self.before.field(column.name)
        own_type = None if own is None else own.data_type
        value = _value(column.data_type, own_type, old, self.trees.get(column.name), given)
        known = self.given.get(column.name)
        return value if known is None or own_type is None else _complete_struct(value, known, old, own_type)


def assigned_values(
    table: BoundTable, config: TableConfig, assignments: Sequence[Assignment], alias: str | None
) -> NewValues:
    """Returns new values for rows of `table`, whose definition is then `config`.

    Raises for columns that do not exist, are assigned twice, or cannot be assigned.
    """
    trees: dict[str, Tree] = {}
    defaults: set[str] = set()
    for number, assignment in enumerate(assignments):
        path = path_in_table(table, config.schema, assignment.path, alias)
        column, *fields = _resolve_fields(config.schema, path)
        if column.name in {identity.name for identity in config.identities}:
            raise IdentityUpdated(column.name)
        names = [each.name for each in (column, *fields)]
        _add(trees, names, number)
        if assignment.is_default and fields:
            raise StatementNotSupported(f"DEFAULT for the field {'.'.join(names)}")
        if assignment.is_default:
            defaults.add(column.name)
    return NewValues(
        columns=tuple(_assigned_columns(config, trees, defaults)), trees=trees, before=table.snapshot.schema
    )


def assignment_refusals(clause: str) -> Refusals:
    """Returns the dependencies that new values must not have: only one row is allowed. They are computed once, so they
    may be random.
    """
    unsupported = partial(UnsupportedInAssignment, clause)
    return {
        Dependency.AGGREGATE: partial(AggregateOfRow, f"A value of {clause}"),
        Dependency.WINDOW: unsupported,
        Dependency.GENERATOR: unsupported,
    }


def _assigned_columns(config: TableConfig, trees: Mapping[str, Tree], defaults: set[str]) -> Iterator[StructField]:
    for column in config.schema.fields:
        is_left = column.name in defaults or (column.name not in trees and column.name in config.generations)
        if not is_left:
            yield column


def path_in_table(table: BoundTable, schema: StructType, parts: tuple[str, ...], alias: str | None) -> tuple[str, ...]:
    """Removes the table name, or its alias, from the front."""
    return without_qualifier([alias] if alias is not None else table.name.parts if table.name else (), schema, parts)


def without_qualifier(full: Sequence[str], schema: StructType, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Removes a relation name's end from the front, if a column follows."""
    for count in range(len(full), 0, -1):
        is_qualified = [fold(part) for part in parts[:count]] == [fold(part) for part in full[-count:]]
        if len(parts) > count and is_qualified and schema.field(parts[count]) is not None:
            return parts[count:]
    return parts


def _resolve_fields(schema: StructType, path: Sequence[str]) -> list[StructField]:
    """Returns the column, and the nested fields that the path names."""
    found: list[StructField] = []
    data_type: DataType = schema
    for name in path:
        if not isinstance(data_type, StructType):
            raise FieldOfNonStruct(".".join(each.name for each in found), format_sql_type(data_type))
        own = data_type.field(name)
        if own is None:
            raise column_not_found(".".join(path), data_type.names)
        found.append(own)
        data_type = own.data_type
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


def _value(data_type: DataType, own: DataType | None, old: str, tree: Tree | None, given: Sequence[str]) -> str:
    """Returns SQL for a value with type `data_type`; `own` is the type of the `old` one, None without an old value."""
    if isinstance(tree, int):
        return given[tree]
    if tree is None or own is None and not isinstance(data_type, StructType):
        return "NULL" if own is None else old
    assert isinstance(data_type, StructType)
    parts = []
    for each in data_type.fields:
        before = own.field(each.name) if isinstance(own, StructType) else None
        inner, path = (None, "NULL") if before is None else (before.data_type, f"{old}.{quote(before.name)}")
        parts.append((each.name, _value(each.data_type, inner, path, tree.get(each.name), given)))
    return _struct(parts)


def _complete_struct(value: str, given: DataType, old: str, own: DataType) -> str:
    """Returns SQL for the struct `value`, with type `given`, plus the fields of the `old` one, with type `own`, that it
    lacks; it is NULL if both are.
    """
    if not isinstance(given, StructType) or not isinstance(own, StructType) or not _lacks_field(own, given):
        return value
    parts = []
    for each in given.fields:
        before, inner = own.field(each.name), f"{value}.{quote(each.name)}"
        if before is not None:
            inner = _complete_struct(inner, each.data_type, f"{old}.{quote(before.name)}", before.data_type)
        parts.append((each.name, inner))
    parts += [(each.name, f"{old}.{quote(each.name)}") for each in own.fields if given.field(each.name) is None]
    return f"CASE WHEN {value} IS NOT NULL OR {old} IS NOT NULL THEN {_struct(parts)} END"


def _lacks_field(own: DataType, given: DataType) -> bool:
    """Returns whether a struct in `given` lacks a field of `own`; array elements and maps are not compared."""
    if not isinstance(own, StructType) or not isinstance(given, StructType):
        return False
    pairs = [(each, given.field(each.name)) for each in own.fields]
    return any(other is None or _lacks_field(each.data_type, other.data_type) for each, other in pairs)


def _struct(parts: Iterable[tuple[str, str]]) -> str:
    """Returns SQL for a struct with these names and values."""
    items = []
    for name, value in parts:
        literal = name.replace("\\", "\\\\").replace("'", "\\'")
        items.append(f"'{literal}', {value}")
    return f"named_struct({', '.join(items)})"
