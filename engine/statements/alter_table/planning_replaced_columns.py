"""REPLACE COLUMNS: derives the changes that lead to the given column list.

A listed column that the table has keeps its identity and values; its comment, type and position come from the list.
Other listed columns are new, and unlisted ones are dropped. The same applies in structs, and inside arrays and maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from catalog.conditions import AddedColumnDefault, ReplacedIdentity, StatementNotSupported
from engine.binding.bound import BoundTable
from engine.planning.semantics.dependencies import ensure_unused
from engine.planning.semantics.text_lengths import characters_of
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.statements.alter_table.planning_columns import change_data_type, ensure_longer
from engine.statements.alter_table.statement import ReplaceColumns
from engine.statements.create_table.planning_definition import COMMENT, table_schema
from engine.tables import definition_changes as changes
from engine.tables.column_metadata import is_identity
from engine.tables.definition_changes import DefinitionChange
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import After, First, ensure_distinct_names

Path = tuple[str, ...]


def replace_columns(table: BoundTable, change: ReplaceColumns) -> Iterator[DefinitionChange]:
    """Yields the changes that lead to the given columns, matched to the present ones by name.

    Raises `AddedColumnDefault`, `ReplacedIdentity`, `StatementNotSupported`, or an error for repeated names.
    """
    for column in change.columns:
        name = ".".join(column.parts)
        if len(column.parts) > 1 or column.position is not None:
            raise StatementNotSupported("A nested column or a position in REPLACE COLUMNS")
        if column.default is not None:
            raise AddedColumnDefault(name)
        if column.identity is not None:
            raise ReplacedIdentity(name)
        if column.generated is not None or column.checks:
            raise StatementNotSupported("A generated or checked column in REPLACE COLUMNS")
    identities = [field.name for field in table.snapshot.schema.fields if is_identity(field)]
    if identities:
        raise ReplacedIdentity(", ".join(identities))
    wanted = table_schema(change.columns)
    ensure_distinct_names(wanted)  # a repeated column would be moved twice
    yield from _fields(table, (), table.snapshot.schema, wanted)


def _fields(table: BoundTable, parent: Path, old: StructType, new: StructType) -> Iterator[DefinitionChange]:
    """Yields new fields first, so that a struct is never empty."""
    for field in new.fields:
        if old.field(field.name) is None:
            yield changes.AddColumn(field=field, parent=parent)
    for field in old.fields:
        if new.field(field.name) is None:
            ensure_unused(table, (*parent, field.name))
            yield changes.DropColumn(path=(*parent, field.name))
    position: First | After = First()
    for field in new.fields:
        present = old.field(field.name)
        path = (*parent, present.name if present else field.name)
        if present is not None:
            yield from _field(table, path, present, field)
        yield changes.MoveColumn(path=path, position=position)
        position = After(path[-1])


def _field(table: BoundTable, path: Path, old: StructField, new: StructField) -> Iterator[DefinitionChange]:
    yield changes.SetColumnMetadata(path=path, key=COMMENT, value=new.comment)
    if old.nullable != new.nullable:
        yield changes.ChangeNullable(path=path, nullable=new.nullable)
    inner = list(_inner(path, old.data_type, new.data_type))
    if inner:
        for deeper, before, after in inner:
            yield from _fields(table, deeper, before, after)
    else:
        yield from change_data_type(table, path, old, new.data_type)
    if len(path) == 1:
        had, has = characters_of(old), characters_of(new)
        if had != has:
            ensure_longer(table, path, *_of_both(old, new, had, has))
            yield changes.SetColumnMetadata(path=path, key=CHAR_VARCHAR_TYPE, value=new.metadata.get(CHAR_VARCHAR_TYPE))


def _of_both(
    old: StructField, new: StructField, before: Mapping[Path, str], after: Mapping[Path, str]
) -> tuple[Mapping[Path, str], Mapping[Path, str]]:
    """Removes the entries for fields that only one type has."""
    there = set(_places(old.data_type, ())) & set(_places(new.data_type, ()))
    first, second = ({place: text for place, text in each.items() if place in there} for each in (before, after))
    return first, second


def _places(data_type: DataType, path: Path) -> Iterator[Path]:
    """Yields the paths to all parts of a type."""
    yield path
    match data_type:
        case StructType(fields):
            for field in fields:
                yield from _places(field.data_type, (*path, field.name))
        case ArrayType(element):
            yield from _places(element, (*path, "element"))
        case MapType(key, value):
            yield from _places(key, (*path, "key"))
            yield from _places(value, (*path, "value"))
        case PrimitiveType() | DecimalType():
            return
        case _:
            assert_never(data_type)


def _inner(path: Path, old: DataType, new: DataType) -> Iterator[tuple[Path, StructType, StructType]]:
    """Yields the structs that both types have at the same path, outermost only."""
    match old, new:
        case StructType(), StructType():
            yield path, old, new
        case ArrayType(before), ArrayType(after):
            yield from _inner((*path, "element"), before, after)
        case MapType(old_key, old_value), MapType(new_key, new_value):
            yield from _inner((*path, "key"), old_key, new_key)
            yield from _inner((*path, "value"), old_value, new_value)
        case _:  # any other pair of types
            return
