"""Converts ALTER TABLE's column changes into definition changes.

Existing rows have no value for a new column, so it can neither be NOT NULL nor have a default. An existing column can
become NOT NULL if every row has a value, which `engine.planning.semantics.expression_checks` verifies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from catalog.conditions import (
    AddedColumnDefault,
    AddedIdentity,
    AlteredIdentity,
    ColumnChangeNotSupported,
    ColumnNotFound,
    DefaultsNotEnabled,
    NestedDefault,
    StatementNotSupported,
)
from engine.binding.bound import BoundTable
from engine.planning.semantics.dependencies import ensure_unused
from engine.planning.semantics.text_lengths import characters_of, spell_type
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.dialect.type_text import SqlType, parse_type
from engine.statements.alter_table.statement import AddColumns, AlterColumn, DropColumns
from engine.statements.create_table.planning_definition import COMMENT, table_schema
from engine.tables import definition_changes as changes
from engine.tables.column_metadata import DEFAULT, is_identity
from engine.tables.config import Capability
from engine.tables.definition_changes import DefinitionChange, RenameColumn
from engine.types.column_paths import Path
from engine.types.schema import DataType, StructField, StructType
from engine.types.schema_changes import column_around, find_field, replace_inner_type, resolve_path
from engine.types.sql_types import format_sql_type

_CHARACTERS = re.compile(r"(char|varchar)\((\d+)\)")


def add_columns(table: BoundTable, change: AddColumns) -> Iterator[DefinitionChange]:
    """Yields a change per added column.

    Raises `AddedColumnDefault` if the format cannot store a default for existing rows, `AddedIdentity`, or
    `StatementNotSupported`.
    """
    for column in change.columns:
        name = ".".join(column.parts)
        if column.default is not None and not table.snapshot.table_config.has(Capability.ADDED_DEFAULTS):
            raise AddedColumnDefault(name)
        if column.identity is not None:
            raise AddedIdentity(name)
        if column.generated is not None or column.checks or column.keys:
            raise StatementNotSupported("A generated or checked column in ADD COLUMNS")
        (field,) = table_schema([column]).fields
        yield changes.AddColumn(field=field, parent=column.parts[:-1], position=column.position)


def rename_column(table: BoundTable, change: RenameColumn) -> Iterator[DefinitionChange]:
    """Yields the change. Raises like `ensure_unused` if an expression of the table refers to the column."""
    ensure_unused(table, change.path)
    yield change


def drop_columns(table: BoundTable, change: DropColumns) -> Iterator[DefinitionChange]:
    """Yields a change per column; with IF EXISTS, missing columns are passed over. Raises like `ensure_unused`."""
    for path in change.columns:
        if change.if_exists and not _exists(table.snapshot.schema, path):
            continue
        ensure_unused(table, path)
        yield changes.DropColumn(path=path)


def alter_column(table: BoundTable, change: AlterColumn) -> Iterator[DefinitionChange]:
    """Yields the changes in a fixed order: type, comment, nullability, default, position."""
    schema, path = table.snapshot.schema, change.parts
    if change.sql_type is not None:
        yield from _new_type(table, resolve_path(schema, path), parse_type(change.sql_type))
    if change.comment is not None:
        yield changes.SetColumnMetadata(path=path, key=COMMENT, value=change.comment)
    if change.nullable is not None:
        yield changes.ChangeNullable(path=path, nullable=change.nullable, rows_checked=True)
    if change.default is not None or change.drop_default:
        yield _new_default(table, path, change.default)
    if change.position is not None:
        yield changes.MoveColumn(path=path, position=change.position)


def _new_type(table: BoundTable, path: Path, kind: SqlType) -> Iterator[DefinitionChange]:
    """Changes a column to a wider type, or to a longer text length at any depth, which is stored in the column's
    metadata.
    """
    schema = table.snapshot.schema
    column, top = column_around(schema, path), find_field(schema, path[:1])
    present = find_field(schema, column)
    inner = path[1:]
    known = characters_of(top)
    before = {place: text for place, text in known.items() if place[: len(inner)] == inner}
    after = {(*inner, *place): text for place, text in kind.characters}
    data_type = replace_inner_type(present.data_type, path[len(column) :], kind.data_type)
    ensure_longer(table, path[:1], before, after)
    yield from change_data_type(table, column, present, data_type)
    if before != after:
        others = {place: text for place, text in known.items() if place not in before}
        spelled = spell_type(top.data_type, {**others, **after}) if others or after else None
        yield changes.SetColumnMetadata(path=path[:1], key=CHAR_VARCHAR_TYPE, value=spelled)


def change_data_type(
    table: BoundTable, path: Path, field: StructField, data_type: DataType
) -> Iterator[DefinitionChange]:
    """Changes a column to a wider type; does nothing if it has the type. Text lengths are ignored."""
    if format_sql_type(field.data_type) == format_sql_type(data_type):
        return
    if is_identity(field):
        raise AlteredIdentity(".".join(path))
    ensure_unused(table, path)
    yield changes.ChangeType(path=path, data_type=data_type)


def ensure_longer(table: BoundTable, column: Path, before: Mapping[Path, str], after: Mapping[Path, str]) -> None:
    """Raises `ColumnChangeNotSupported` if a text gets a length that it did not have, or a CHAR length changes."""
    for place in dict.fromkeys([*before, *after]):
        old, new = before.get(place, "string"), after.get(place, "string")
        if old == new:
            continue
        ensure_unused(table, (*column, *place))
        if not _is_longer(old, new):
            raise ColumnChangeNotSupported(".".join((*column, *place)), old, new)


def _is_longer(old: str, new: str) -> bool:
    """Returns True if `new` (`string`, `char(n)`, `varchar(n)`) includes every value of `old`."""
    if new == "string":
        return True
    before, after = _CHARACTERS.fullmatch(old), _CHARACTERS.fullmatch(new)
    return before is not None and after is not None and after[1] == "varchar" and int(before[2]) <= int(after[2])


def _new_default(table: BoundTable, path: tuple[str, ...], default: str | None) -> DefinitionChange:
    if len(path) > 1:
        raise NestedDefault(".".join(path))
    field = find_field(table.snapshot.schema, path)
    if default is not None:
        if is_identity(field):
            raise AlteredIdentity(field.name)
        if not table.snapshot.table_config.has(Capability.COLUMN_DEFAULTS):
            raise DefaultsNotEnabled(table.label, field.name)
    return changes.SetColumnMetadata(path=path, key=DEFAULT, value=default)


def new_not_nulls(table: BoundTable, change: AlterColumn) -> Iterator[tuple[str, ...]]:
    """Yields the path of a column that becomes NOT NULL; all rows must have a value there."""
    if change.nullable is False and find_field(table.snapshot.schema, change.parts).nullable:
        path = resolve_path(table.snapshot.schema, change.parts)
        if not _is_in_structs(table.snapshot.schema, path):
            raise StatementNotSupported("SET NOT NULL inside of an array or a map")
        yield path


def _is_in_structs(schema: StructType, path: tuple[str, ...]) -> bool:
    return all(isinstance(find_field(schema, path[:end]).data_type, StructType) for end in range(1, len(path)))


def _exists(schema: StructType, path: tuple[str, ...]) -> bool:
    try:
        find_field(schema, path)
    except ColumnNotFound:
        return False
    return True
