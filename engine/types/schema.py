"""Table schemas: data types as frozen values, parsed from JSON and formatted as JSON.

`Metadata.schema_string` is Spark's JSON form of a struct. Types are a closed set (`DataType`). An unknown type is
rejected with its name, since guessing would misread the table's rows. Column metadata is free-form JSON and preserved.
Old logs also spell `void` as `null`.

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
# `AllowedMessages.java` has the same rule and its reasons.
_USER_KEY = re.compile(r"(?![A-Z]+_)[^\W_][^.\x00-\x1f\x7f]{0,199}\Z")


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
    """A column, or a field in a nested struct.

    Not a dataclass: listing all columns creates a million fields. This form takes a fifth of the time and is not
    tracked by the garbage collector, which would otherwise traverse all fields repeatedly. Types are trees, so there
    are no cycles to collect. The functions in `dataclasses`, including `replace`, treat it as a dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = {
        each.name: each for each in fields(make_dataclass("_", ("name", "data_type", "nullable", "metadata")))
    }

    # The logical name.
    name: str
    data_type: DataType
    nullable: bool = True
    # Any JSON; keys that begin with `delta.` belong to the protocol.
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        """Returns the comment in the metadata; None if it is missing or not a string."""
        value = self.metadata.get("comment")
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class StructType:
    """Columns in order."""

    fields: tuple[StructField, ...] = ()
    # Fields by name, exact (True) or case-folded. Filled on first use, since a statement may name thousands of columns.
    _by_name: dict[tuple[str, bool], StructField] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the fields' names in order, as spelled."""
        return tuple(item.name for item in self.fields)

    def field(self, name: str) -> StructField | None:
        """Returns the field with this name: exact spelling first, then ignoring case, as Spark resolves names."""
        if not self._by_name:
            for item in self.fields:
                self._by_name.setdefault((item.name, True), item)
                self._by_name.setdefault((item.name.casefold(), False), item)
        return self._by_name.get((name, True)) or self._by_name.get((name.casefold(), False))

    def to_json(self) -> str:
        """Returns the text for `Metadata.schema_string`."""
        return json.dumps(format_data_type(self), separators=(",", ":"), ensure_ascii=False)


DataType: TypeAlias = PrimitiveType | DecimalType | ArrayType | MapType | StructType

# Maximum nesting depth. Code that traverses types, here and in Spark, has a limited stack.
TYPE_DEPTH_MAX = 200

# Shared by all columns without metadata.
_NO_METADATA: Mapping[str, Any] = {}
_NAMES: Mapping[str, DataType] = {kind.value: kind for kind in PrimitiveType} | {
    "null": PrimitiveType.VOID,
    "decimal": DecimalType(10, 0),
}


@lru_cache(maxsize=256)
def parse_schema(schema_string: str) -> StructType:
    """Parses a `Metadata.schema_string`. Raises `MalformedLogEntry`, `UnsupportedDataType`."""
    try:
        found = _PLAIN.decode(schema_string)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # `json` accepts more, or reports the defect
        return _parse_unusual(schema_string)
    if found.type != "struct":
        return _parse_unusual(schema_string)
    none, known = _NO_METADATA, _NAMES.get
    return StructType(
        tuple(
            [  # saves a call for each of a million columns
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


# For listing all columns, a million fields: decoding with known types takes a third of the time.
_PLAIN = msgspec.json.Decoder(_PlainStruct)


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
    """Parses a type from its JSON value at nesting level `depth`. Raises `MalformedLogEntry`, `UnsupportedDataType`."""
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
        case {"type": "udt", "sqlType": stored}:  # a user-defined type is stored as its underlying type
            return parse_data_type(stored, below)
        case _:  # JSON from the log
            raise MalformedLogEntry(_SOURCE, f"{_excerpt(value)} is no type")


def has_user_type(value: Any) -> bool:
    """Returns True if a type in Spark's JSON is a user-defined type, or has one in its parts."""
    match value:
        case {"type": "udt"}:
            return True
        case {}:
            return any(map(has_user_type, value.values()))
        case [*parts]:
            return any(map(has_user_type, parts))
        case _:  # JSON from Spark
            return False


def user_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata of a column that only its users read, without that of Spark, tables and the gateway."""
    return {key: value for key, value in metadata.items() if _USER_KEY.match(key)}


def format_data_type(data_type: DataType) -> Any:
    """Returns a type's JSON value; the inverse of `parse_data_type`."""
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
    """Returns the schema with `change` applied to all fields and `change_leaf` to atomic types."""

    def map_type(data_type: DataType) -> DataType:
        match data_type:
            case StructType():
                return map_fields(data_type, change, change_leaf)
            case ArrayType(element, contains_null):
                return ArrayType(map_type(element), contains_null)
            case MapType(key, value, contains_null):
                return MapType(map_type(key), map_type(value), contains_null)
            case PrimitiveType() | DecimalType():
                return change_leaf(data_type)
            case _:
                assert_never(data_type)

    return StructType(tuple(change(replace(item, data_type=map_type(item.data_type))) for item in schema.fields))


def walk_fields(data_type: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], StructField]]:
    """Yields every struct field in a type, parents before children, with its path of logical names.

    In paths, array elements are `element`, map keys and values `key` and `value`.
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
    """Returns one shared value per name, so that a million columns share few types."""
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
    """Returns a boolean that defaults to true, such as nullability."""
    flag = value.get(name)
    return True if flag is None else bool(flag)


def _too_deep() -> UnsupportedDataType:
    return UnsupportedDataType(f"struct<…> (more than {TYPE_DEPTH_MAX} levels deep)")


def _excerpt(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
