"""The schema of a table: data types as frozen values, the schema's JSON both ways.

`Metadata.schema_string` is Spark's JSON form of a struct. Types are a closed set (`DataType`); a type that we do not
know is refused by name, since guessing would misread the table's rows. Column metadata is free JSON and kept as it is.
`void` is also spelled `null` in old logs.

Protocol: "Schema Serialization Format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, make_dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, assert_never

import msgspec

from catalog.conditions import MalformedLogEntry, UnsupportedDataType

_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\)")
_SOURCE = "schemaString"


class PrimitiveType(Enum):
    """Types without parameters; the value is the name in the log."""

    STRING = "string"
    LONG = "long"
    INTEGER = "integer"
    SHORT = "short"
    BYTE = "byte"
    FLOAT = "float"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    VARIANT = "variant"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class DecimalType:
    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ArrayType:
    element_type: DataType
    contains_null: bool = True


@dataclass(frozen=True, slots=True)
class MapType:
    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True


class StructField(msgspec.Struct, frozen=True, gc=False):
    """A column, or a field of a nested struct.

    No dataclass: a list of all columns makes a million of them, each in a fifth of the time and unknown to the garbage
    collector, which would look at all of them again and again. There is no cycle that it could find: types are trees.
    To the functions of `dataclasses`, `replace` among them, it is one all the same.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = {
        each.name: each for each in fields(make_dataclass("_", ("name", "data_type", "nullable", "metadata")))
    }

    name: str
    """The logical name."""
    data_type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Any JSON; keys that begin with `delta.` belong to the protocol."""

    @property
    def comment(self) -> str | None:
        value = self.metadata.get("comment")
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class StructType:
    """Columns in order."""

    fields: tuple[StructField, ...] = ()
    _by_name: dict[tuple[str, bool], StructField] = field(default_factory=dict, init=False, compare=False, repr=False)
    """By name, exact (True) or folded; filled at the first look-up, since a statement may name thousands of columns."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.fields)

    def field(self, name: str) -> StructField | None:
        """The field of this name: exact spelling first, then without regard to case, as Spark resolves names."""
        if not self._by_name:
            for item in self.fields:
                self._by_name.setdefault((item.name, True), item)
                self._by_name.setdefault((item.name.casefold(), False), item)
        return self._by_name.get((name, True)) or self._by_name.get((name.casefold(), False))

    def to_json(self) -> str:
        """The text for `Metadata.schema_string`."""
        return json.dumps(format_data_type(self), separators=(",", ":"), ensure_ascii=False)


DataType: TypeAlias = PrimitiveType | DecimalType | ArrayType | MapType | StructType

TYPE_DEPTH_MAX = 200
"""Levels of a schema. What walks types, here and in Spark, does so with a stack that ends somewhere."""

_NO_METADATA: Mapping[str, Any] = {}
"""That of all columns without any."""
_NAMES: Mapping[str, DataType] = {kind.value: kind for kind in PrimitiveType} | {
    "null": PrimitiveType.VOID,
    "decimal": DecimalType(10, 0),
}


@lru_cache(maxsize=256)
def parse_schema(schema_string: str) -> StructType:
    """The schema in a `Metadata.schema_string`. Raises `MalformedLogEntry`, `UnsupportedDataType`."""
    try:
        found = _PLAIN.decode(schema_string)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # `json` takes more, or says what is wrong
        return _parse_unusual(schema_string)
    if found.type != "struct":
        return _parse_unusual(schema_string)
    none, known = _NO_METADATA, _NAMES.get
    return StructType(
        tuple(
            [  # a call less for each of a million columns
                StructField(one.name, plain, one.nullable is not False, one.metadata or none)
                if (plain := known(one.type) if type(one.type) is str else None)
                and (one.nullable is None or type(one.nullable) is bool)
                else _field(one.name, one.type, one.nullable, one.metadata, 1)
                for one in found.fields
            ]
        )
    )


class _PlainField(msgspec.Struct, gc=False):
    name: str
    type: Any
    nullable: Any = None
    metadata: dict[str, Any] | None = None


class _PlainStruct(msgspec.Struct, gc=False):
    type: str
    fields: list[_PlainField]


_PLAIN = msgspec.json.Decoder(_PlainStruct)
"""Lists of all columns parse a million of them: with the types known, that takes a third of the time."""


def _parse_unusual(schema_string: str) -> StructType:
    try:
        value = json.loads(schema_string)
        if isinstance(value, str):  # some writers encode the text twice
            value = json.loads(value)
        schema = parse_data_type(value)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise MalformedLogEntry(_SOURCE, f"no JSON ({error})") from error
    if not isinstance(schema, StructType):
        raise MalformedLogEntry(_SOURCE, "the schema is no struct")
    return schema


def parse_data_type(value: Any, depth: int = 0) -> DataType:
    """A type from its JSON value, so many levels inside others. Raises `MalformedLogEntry`, `UnsupportedDataType`."""
    if isinstance(value, str):
        return _parse_name(value)
    if depth > TYPE_DEPTH_MAX:
        raise _too_deep()
    below = depth + 1
    match value:
        case {"type": "struct", "fields": list(items)}:
            return StructType(tuple(_parse_field(item, below) for item in items))
        case {"type": "array", "elementType": element, **rest}:
            return ArrayType(parse_data_type(element, below), _flag(rest, "containsNull"))
        case {"type": "map", "keyType": key, "valueType": item, **rest}:
            key_type, value_type = parse_data_type(key, below), parse_data_type(item, below)
            return MapType(key_type, value_type, _flag(rest, "valueContainsNull"))
        case {"type": "udt", "sqlType": stored}:  # a user-defined type is stored as the type beneath it
            return parse_data_type(stored, below)
        case _:  # JSON from the log
            raise MalformedLogEntry(_SOURCE, f"{_excerpt(value)} is no type")


def format_data_type(data_type: DataType) -> Any:
    """The JSON value of a type; the inverse of `parse_data_type`."""
    match data_type:
        case PrimitiveType():
            return data_type.value
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(element, contains_null):
            return {"type": "array", "elementType": format_data_type(element), "containsNull": contains_null}
        case MapType(key, value, contains_null):
            return {
                "type": "map",
                "keyType": format_data_type(key),
                "valueType": format_data_type(value),
                "valueContainsNull": contains_null,
            }
        case StructType(items):
            return {"type": "struct", "fields": [_format_field(item) for item in items]}
        case _:
            assert_never(data_type)


def map_fields(
    schema: StructType,
    change: Callable[[StructField], StructField],
    change_leaf: Callable[[DataType], DataType] = lambda leaf: leaf,
) -> StructType:
    """A schema of the same shape: `change` applied to its fields at every level, `change_leaf` to simple types."""

    def mapped(data_type: DataType) -> DataType:
        match data_type:
            case StructType():
                return map_fields(data_type, change, change_leaf)
            case ArrayType(element, contains_null):
                return ArrayType(mapped(element), contains_null)
            case MapType(key, value, contains_null):
                return MapType(mapped(key), mapped(value), contains_null)
            case PrimitiveType() | DecimalType():
                return change_leaf(data_type)
            case _:
                assert_never(data_type)

    return StructType(tuple(change(replace(item, data_type=mapped(item.data_type))) for item in schema.fields))


def walk_fields(data_type: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], StructField]]:
    """Every struct field in a type, parents before children, with its path of logical names.

    Elements of arrays and the keys and values of maps appear in paths as `element`, `key` and `value`.
    """
    match data_type:
        case StructType(items):
            for item in items:
                yield (*path, item.name), item
                yield from walk_fields(item.data_type, (*path, item.name))
        case ArrayType(element):
            yield from walk_fields(element, (*path, "element"))
        case MapType(key, value):
            yield from walk_fields(key, (*path, "key"))
            yield from walk_fields(value, (*path, "value"))
        case PrimitiveType() | DecimalType():
            return
        case _:
            assert_never(data_type)


@lru_cache(maxsize=1024)
def _parse_name(name: str) -> DataType:
    """One value for each name, so that a million columns have few types."""
    known = _NAMES.get(name)
    if known is not None:
        return known
    match = _DECIMAL.fullmatch(name)
    if match is None:
        raise UnsupportedDataType(name)
    precision, scale = int(match[1]), int(match[2])
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise UnsupportedDataType(name)
    return DecimalType(precision, scale)


def _parse_field(value: Any, depth: int) -> StructField:
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or "type" not in value:
        raise MalformedLogEntry(_SOURCE, f"{_excerpt(value)} is no field")
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise MalformedLogEntry(_SOURCE, f"the metadata of column {name} is no object")
    return _field(name, value["type"], value.get("nullable"), metadata, depth)


def _field(name: str, kind: Any, nullable: Any, metadata: dict[str, Any] | None, depth: int) -> StructField:
    data_type = _parse_name(kind) if isinstance(kind, str) else parse_data_type(kind, depth)
    return StructField(name, data_type, nullable is None or bool(nullable), metadata or _NO_METADATA)


def _format_field(item: StructField) -> dict[str, Any]:
    return {
        "name": item.name,
        "type": format_data_type(item.data_type),
        "nullable": item.nullable,
        "metadata": dict(item.metadata),
    }


def _flag(value: Mapping[Any, Any], name: str) -> bool:
    """A boolean that defaults to true, as nullability does."""
    flag = value.get(name)
    return True if flag is None else bool(flag)


def _too_deep() -> UnsupportedDataType:
    return UnsupportedDataType(f"struct<…> (more than {TYPE_DEPTH_MAX} levels deep)")


def _excerpt(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
