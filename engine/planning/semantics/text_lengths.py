"""Text lengths inside columns, during column changes.

Spark stores `char(n)` and `varchar(n)` as the complete type's spelling, in the top-level column's metadata. If a nested
field is added, dropped, moved, renamed or retyped, the spelling is updated, because writes follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.dialect.type_text import parse_type
from engine.tables import definition_changes as changes
from engine.tables.definition_changes import DefinitionChange
from engine.types.column_paths import Path
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.schema_changes import add_field, drop_field, find_field, move_field, replace_field, resolve_path
from engine.types.sql_types import column_sql_type, format_sql_type


def characters_of(column: StructField) -> Mapping[Path, str]:
    """Returns `char(n)` and `varchar(n)` in a column's type, by their paths."""
    return dict(parse_type(column_sql_type(column)).characters) if CHAR_VARCHAR_TYPE in column.metadata else {}


def spell_type(data_type: DataType, characters: Mapping[Path, str], path: Path = ()) -> str:
    """Returns Spark's spelling for a type, with `char(n)` and `varchar(n)` at these paths."""
    match data_type:
        case ArrayType(element):
            return f"array<{spell_type(element, characters, (*path, 'element'))}>"
        case MapType(key, value):
            spelled = [spell_type(each, characters, (*path, part)) for part, each in (("key", key), ("value", value))]
            return f"map<{','.join(spelled)}>"
        case StructType(fields):
            named = (f"{each.name}:{spell_type(each.data_type, characters, (*path, each.name))}" for each in fields)
            return f"struct<{','.join(named)}>"
        case PrimitiveType() | DecimalType():
            return characters.get(path) or format_sql_type(data_type)
        case _:
            assert_never(data_type)


def with_lengths(schema: StructType, changed: Iterable[DefinitionChange]) -> Iterator[DefinitionChange]:
    """Yields the changes for a table with these columns, plus the resulting changes of text lengths.

    Changes that do not affect existing columns pass through; the format reports invalid changes.
    """
    lengths = {(field.name, *path): text for field in schema.fields for path, text in characters_of(field).items()}
    for change in changed:
        if not isinstance(change, changes.ColumnChange):
            yield change
            continue
        match change:
            case changes.AddColumn(field=field, parent=parent):
                parent = resolve_path(schema, parent)
                lengths |= {(*parent, field.name, *path): text for path, text in characters_of(field).items()}
                inner = {key: value for key, value in field.metadata.items() if not parent or key != CHAR_VARCHAR_TYPE}
                change = replace(change, field=replace(field, metadata=inner))
                schema, path = add_field(schema, parent, change.field, change.position), (*parent, field.name)
            case changes.DropColumn(path=path):
                path = resolve_path(schema, path)
                lengths = {place: text for place, text in lengths.items() if place[: len(path)] != path}
                schema = drop_field(schema, path)
            case changes.RenameColumn(path=path, name=name):
                path = resolve_path(schema, path)
                new = (*path[:-1], name)
                lengths = {
                    (*new, *place[len(path) :]) if place[: len(path)] == path else place: text
                    for place, text in lengths.items()
                }
                schema, path = replace_field(schema, path, _set_name(name)), new
            case changes.MoveColumn(path=path):
                schema = move_field(schema, path, change.position)
            case changes.ChangeType(path=path):
                schema = replace_field(schema, path, _set_type(change.data_type))
            case changes.SetColumnMetadata(path=path, key=key) if key == CHAR_VARCHAR_TYPE:
                path = resolve_path(schema, path)
                lengths = {place: text for place, text in lengths.items() if place[:1] != path[:1]}
                known = parse_type(change.value).characters if change.value is not None else ()
                lengths |= {(*path, *place): text for place, text in known}
                path = path[:1]
            case changes.SetColumnMetadata() | changes.ChangeNullable():
                path = ()
            case _:
                assert_never(change)
        yield change
        if len(path) > 1:
            yield from _spelled_anew(schema, path[0], lengths)


def _set_name(name: str) -> Callable[[StructField], StructField]:
    return lambda field: replace(field, name=name)


def _set_type(data_type: DataType) -> Callable[[StructField], StructField]:
    return lambda field: replace(field, data_type=data_type)


def _spelled_anew(schema: StructType, name: str, lengths: Mapping[Path, str]) -> Iterator[DefinitionChange]:
    """Yields the length changes for a column with declared lengths."""
    top = find_field(schema, (name,))
    inner = {place[1:]: text for place, text in lengths.items() if place[0] == top.name}
    if inner or CHAR_VARCHAR_TYPE in top.metadata:
        text = spell_type(top.data_type, inner) if inner else None
        yield changes.SetColumnMetadata(path=(top.name,), key=CHAR_VARCHAR_TYPE, value=text)
