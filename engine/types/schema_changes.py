"""Schema changes as pure functions: add, drop, rename, move or alter a field at any depth.

A field is addressed by its path of logical names. Below an array or a map the path continues with `element`, `key` or
`value`, as in `walk_fields`. Names match exactly first and then ignoring case, as Spark resolves them.

A type may be widened to one as which files with the old type can be read.

Protocol: "Type Widening".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from catalog.conditions import DuplicateColumns, ParentNotStruct
from engine.errors.table_errors import column_not_found
from engine.types.column_paths import Path
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    walk_fields,
)

Fields: TypeAlias = tuple[StructField, ...]


@dataclass(frozen=True, slots=True)
class First:
    """Before all other fields in its struct."""


@dataclass(frozen=True, slots=True)
class After:
    """After a sibling."""

    name: str


# None: at the end for a new field, unchanged for an existing one.
Position: TypeAlias = First | After | None


def add_field(schema: StructType, parent: Path, field: StructField, position: Position = None) -> StructType:
    """Adds `field` to the struct at `parent` (empty: top level). Raises `ColumnNotFound`, `ParentNotStruct`."""
    return _change_fields(schema, parent, lambda fields: _insert(fields, field, position))


def drop_field(schema: StructType, path: Path) -> StructType:
    """Removes the field. Raises `ColumnNotFound`, `ParentNotStruct`."""
    return _change_fields(schema, path[:-1], lambda fields: _without(fields, path[-1]))


def move_field(schema: StructType, path: Path, position: Position) -> StructType:
    """Moves the field among its siblings. Raises `ColumnNotFound`, `ParentNotStruct`."""
    moved = find_field(schema, path)
    return _change_fields(schema, path[:-1], lambda fields: _insert(_without(fields, path[-1]), moved, position))


def replace_field(schema: StructType, path: Path, change: Callable[[StructField], StructField]) -> StructType:
    """Replaces the field in its place with `change`'s result. Raises `ColumnNotFound`, `ParentNotStruct`."""
    old = find_field(schema, path)

    def swap(fields: Fields) -> Fields:
        return tuple(change(item) if item is old else item for item in fields)

    return _change_fields(schema, path[:-1], swap)


def find_field(schema: StructType, path: Path) -> StructField:
    """Finds a field. Raises `ColumnNotFound`, `ParentNotStruct`."""
    fields = sibling_fields(schema, path)
    found = StructType(fields).field(path[-1])
    if found is None:
        raise column_not_found(".".join(path), [item.name for item in fields])
    return found


def sibling_fields(schema: StructType, path: Path) -> Fields:
    """Returns the fields in the struct that contains the last field.

    Raises `ColumnNotFound`, `ParentNotStruct`.
    """
    return _fields_at(schema, path[:-1], ())


def resolve_path(schema: StructType, path: Path) -> Path:
    """Returns the path in the schema's spelling. Raises like `find_field`."""
    return tuple(
        part if _is_inside(schema, path[:depth]) else find_field(schema, path[: depth + 1]).name
        for depth, part in enumerate(path)
    )


def column_around(schema: StructType, path: Path) -> Path:
    """Returns the path up to its last field, without a trailing `element`, `key` or `value`."""
    while _is_inside(schema, path[:-1]):
        path = path[:-1]
    return path


def replace_inner_type(data_type: DataType, inside: Path, new: DataType) -> DataType:
    """Replaces the type at `inside` (`element`, `key`, `value`). Raises `ParentNotStruct`."""
    if not inside:
        return new
    part, rest = inside[0], inside[1:]
    match data_type:
        case ArrayType(element) if part == "element":
            return replace(data_type, element_type=replace_inner_type(element, rest, new))
        case MapType(key, _) if part == "key":
            return replace(data_type, key_type=replace_inner_type(key, rest, new))
        case MapType(_, value) if part == "value":
            return replace(data_type, value_type=replace_inner_type(value, rest, new))
        case StructType() | ArrayType() | MapType() | PrimitiveType() | DecimalType():
            raise ParentNotStruct(part)
        case _:
            assert_never(data_type)


def _is_inside(schema: StructType, parent: Path) -> bool:
    """Returns whether the value at `parent` is an array or a map, whose parts have fixed names."""
    return bool(parent) and isinstance(_type_at(schema, parent, parent), ArrayType | MapType)


def _fields_at(data_type: DataType, path: Path, above: Path) -> Fields:
    found = _type_at(data_type, path, (*above, *path))
    if not isinstance(found, StructType):
        raise ParentNotStruct(".".join((*above, *path)))
    return found.fields


def _type_at(data_type: DataType, path: Path, whole: Path) -> DataType:
    if not path:
        return data_type
    part, *rest = path
    match data_type:
        case StructType(fields):
            field = data_type.field(part)
            if field is None:
                raise column_not_found(".".join(whole), [item.name for item in fields])
            return _type_at(field.data_type, tuple(rest), whole)
        case ArrayType(element) if part == "element":
            return _type_at(element, tuple(rest), whole)
        case MapType(key, value) if part in ("key", "value"):
            return _type_at(key if part == "key" else value, tuple(rest), whole)
        case ArrayType() | MapType() | PrimitiveType() | DecimalType():
            raise ParentNotStruct(".".join(whole))
        case _:
            assert_never(data_type)


def _change_fields(schema: StructType, parent: Path, change: Callable[[Fields], Fields]) -> StructType:
    """Returns the schema with `change` applied to the fields in the struct at `parent`."""

    def descend(data_type: DataType, path: Path) -> DataType:
        if not path:
            if not isinstance(data_type, StructType):
                raise ParentNotStruct(".".join(parent))
            return StructType(change(data_type.fields))
        part, rest = path[0], path[1:]
        match data_type:
            case StructType(fields):
                found = data_type.field(part)
                if found is None:
                    raise column_not_found(".".join(parent), [item.name for item in fields])
                return StructType(
                    tuple(
                        replace(item, data_type=descend(item.data_type, rest)) if item is found else item
                        for item in fields
                    )
                )
            case ArrayType(element) if part == "element":
                return replace(data_type, element_type=descend(element, rest))
            case MapType(key, value):
                if part == "key":
                    return replace(data_type, key_type=descend(key, rest))
                if part == "value":
                    return replace(data_type, value_type=descend(value, rest))
                raise ParentNotStruct(".".join(parent))
            case ArrayType() | PrimitiveType() | DecimalType():
                raise ParentNotStruct(".".join(parent))
            case _:
                assert_never(data_type)

    changed = descend(schema, parent)
    assert isinstance(changed, StructType)
    return changed


def _insert(fields: Fields, field: StructField, position: Position) -> Fields:
    match position:
        case None:
            return (*fields, field)
        case First():
            return (field, *fields)
        case After(name):
            behind = StructType(fields).field(name)
            if behind is None:
                raise column_not_found(name, [item.name for item in fields])
            at = next(index for index, item in enumerate(fields) if item is behind) + 1
            return (*fields[:at], field, *fields[at:])
        case _:
            assert_never(position)


def _without(fields: Fields, name: str) -> Fields:
    found = StructType(fields).field(name)
    if found is None:
        raise column_not_found(name, [item.name for item in fields])
    return tuple(item for item in fields if item is not found)


def ensure_distinct_names(schema: StructType) -> None:
    """Raises `DuplicateColumns` for duplicates at any depth."""
    paths = [path for path, _ in walk_fields(schema)]
    counts = Counter(tuple(part.casefold() for part in path) for path in paths)
    twice = [path for path, count in counts.items() if count > 1]
    if twice:
        raise DuplicateColumns(", ".join(".".join(path) for path in twice))


_P = PrimitiveType
_WIDER: dict[PrimitiveType, frozenset[PrimitiveType]] = {
    _P.BYTE: frozenset({_P.SHORT, _P.INTEGER, _P.LONG, _P.DOUBLE}),
    _P.SHORT: frozenset({_P.INTEGER, _P.LONG, _P.DOUBLE}),
    _P.INTEGER: frozenset({_P.LONG, _P.DOUBLE}),
    _P.FLOAT: frozenset({_P.DOUBLE}),
    _P.DATE: frozenset({_P.TIMESTAMP_NTZ}),
}
# Digits before the decimal point that a decimal needs to represent an integer type.
_INTEGER_DIGITS = {_P.BYTE: 10, _P.SHORT: 10, _P.INTEGER: 10, _P.LONG: 20}


def is_widening(old: DataType, new: DataType) -> bool:
    """Returns whether a column can change from the atomic type `old` to `new` without rewriting its files."""
    if old is PrimitiveType.VOID:
        return True
    match old, new:
        case PrimitiveType(), PrimitiveType():
            return new in _WIDER.get(old, frozenset())
        case PrimitiveType(), DecimalType(precision, scale):
            return old in _INTEGER_DIGITS and precision - scale >= _INTEGER_DIGITS[old]
        case DecimalType(old_precision, old_scale), DecimalType(precision, scale):
            return old != new and scale >= old_scale and precision - scale >= old_precision - old_scale
        case _:  # any other pair of types
            return False
