"""What ALTER TABLE says of columns, as changes of the table's definition.

Rows that are there have no value for a new column, so it can be neither NOT NULL nor have a default; one that exists
becomes NOT NULL if every row has a value, which `engine.plan.rules.row_checks` asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.bind.bound import BoundTable
from engine.errors.alter_errors import (
    AddedColumnDefault,
    AddedIdentity,
    AlteredIdentity,
    DefaultsNotEnabled,
    NestedDefault,
)
from engine.errors.column_errors import ColumnChangeNotSupported, ColumnNotFound
from engine.errors.statement_errors import StatementNotSupported
from engine.plan.ddl.new_tables import COMMENT, DEFAULT, table_schema
from engine.plan.rules.dependencies import ensure_unused
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.dialect.type_text import SqlType, parse_type
from engine.statements.alters import AddColumns, AlterColumn, DropColumns, RenameColumn
from engine.statements.tables import After, First, Position
from engine.table import definition_changes as changes
from engine.table.column_metadata import is_identity
from engine.table.definition_changes import DefinitionChange
from engine.table.rules import Capability
from engine.types.schema import PrimitiveType, StructField, StructType
from engine.types.schema_changes import After as AfterField
from engine.types.schema_changes import First as FirstField
from engine.types.schema_changes import Position as FieldPosition
from engine.types.schema_changes import column_around, find_field, replace_inner_type, resolve_path
from engine.types.sql_types import column_sql_type, format_sql_type

_CHARACTERS = re.compile(r"(char|varchar)\((\d+)\)")


def add_columns(table: BoundTable, change: AddColumns) -> Iterator[DefinitionChange]:
    for column in change.columns:
        name = ".".join(column.parts)
        if column.default is not None and not table.snapshot.rules.has(Capability.ADDED_DEFAULTS):
            raise AddedColumnDefault(name)
        if column.identity is not None:
            raise AddedIdentity(name)
        if column.generated is not None or column.checks or column.keys:
            raise StatementNotSupported("A generated or checked column in ADD COLUMNS")
        (field,) = table_schema([column]).fields
        yield changes.AddColumn(field=field, parent=column.parts[:-1], position=_position(column.position))


def rename_column(table: BoundTable, change: RenameColumn) -> Iterator[DefinitionChange]:
    ensure_unused(table, change.parts)
    yield changes.RenameColumn(path=change.parts, name=change.name)


def drop_columns(table: BoundTable, change: DropColumns) -> Iterator[DefinitionChange]:
    for path in change.columns:
        if change.if_exists and not _exists(table.snapshot.schema, path):
            continue
        ensure_unused(table, path)
        yield changes.DropColumn(path=path)


def alter_column(table: BoundTable, change: AlterColumn) -> Iterator[DefinitionChange]:
    schema, path = table.snapshot.schema, change.parts
    if change.sql_type is not None:
        column = column_around(schema, path)
        kind, present = parse_type(change.sql_type), find_field(schema, column)
        if column != path:
            kind = SqlType(replace_inner_type(present.data_type, path[len(column) :], kind.data_type), kind.declared)
        yield from change_type(table, column, present, kind)
    if change.comment is not None:
        yield changes.SetColumnMetadata(path=path, key=COMMENT, value=change.comment)
    if change.nullable is not None:
        yield changes.ChangeNullable(path=path, nullable=change.nullable, rows_checked=True)
    if change.default is not None or change.drop_default:
        yield _new_default(table, path, change.default)
    if change.position is not None:
        yield changes.MoveColumn(path=path, position=_position(change.position))


def change_type(
    table: BoundTable, path: tuple[str, ...], field: StructField, kind: SqlType
) -> Iterator[DefinitionChange]:
    """To a wider type, or to a longer text; nothing where it is the type that the column has."""
    old, new = column_sql_type(field), kind.spelled
    if old == new:
        return
    if is_identity(field):
        raise AlteredIdentity(".".join(path))
    ensure_unused(table, path)
    if field.data_type is PrimitiveType.STRING and kind.data_type is PrimitiveType.STRING:
        if not _is_longer(old, new):
            raise ColumnChangeNotSupported(".".join(path), old, new)
        yield changes.SetColumnMetadata(path=path, key=CHAR_VARCHAR_TYPE, value=kind.declared)
    elif kind.declared is not None or CHAR_VARCHAR_TYPE in field.metadata:
        raise ColumnChangeNotSupported(".".join(path), old, new)
    elif format_sql_type(field.data_type) != format_sql_type(kind.data_type):
        yield changes.ChangeType(path=path, data_type=kind.data_type)


def _is_longer(old: str, new: str) -> bool:
    """Whether `new` (`string`, `char(n)`, `varchar(n)`) has every value of `old`."""
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
        if not table.snapshot.rules.has(Capability.COLUMN_DEFAULTS):
            raise DefaultsNotEnabled(table.label, field.name)
    return changes.SetColumnMetadata(path=path, key=DEFAULT, value=default)


def new_not_nulls(table: BoundTable, change: AlterColumn) -> Iterator[tuple[str, ...]]:
    """The path of the column that becomes NOT NULL, if it does; all rows must have a value there."""
    if change.nullable is False and find_field(table.snapshot.schema, change.parts).nullable:
        path = resolve_path(table.snapshot.schema, change.parts)
        if not _is_in_structs(table.snapshot.schema, path):
            raise StatementNotSupported("SET NOT NULL inside of an array or a map")
        yield path


def _is_in_structs(schema: StructType, path: tuple[str, ...]) -> bool:
    return all(isinstance(find_field(schema, path[:end]).data_type, StructType) for end in range(1, len(path)))


def _position(position: Position | None) -> FieldPosition:
    match position:
        case None:
            return None
        case First():
            return FirstField()
        case After(column=column):
            return AfterField(column)


def _exists(schema: StructType, path: tuple[str, ...]) -> bool:
    try:
        find_field(schema, path)
    except ColumnNotFound:
        return False
    return True
