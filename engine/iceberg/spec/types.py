"""Iceberg schemas: fields with permanent ids, whatever their names.

Data files identify columns by id, so names, order and, within limits, types may differ between a file and the table.

Source: Iceberg table specification, "Schemas and Data Types", "Appendix C: JSON serialization".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, assert_never

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.spec.json_values import JsonObject

# Higher ids belong to metadata columns.
FIELD_ID_MAX = 2_147_483_447
_DEPTH_MAX = 100
_PARAMETERS = re.compile(r"(decimal|fixed|geometry|geography)\s*[\[(](.*)[\])]", re.DOTALL)
_DECIMAL = re.compile(r"\s*(\d{1,2})\s*,\s*(\d{1,2})\s*")


class Kind(Enum):
    """Types without nested fields; the value is the JSON name."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIMESTAMP_NS = "timestamp_ns"
    TIMESTAMPTZ_NS = "timestamptz_ns"
    STRING = "string"
    UUID = "uuid"
    FIXED = "fixed"
    BINARY = "binary"
    UNKNOWN = "unknown"
    VARIANT = "variant"
    GEOMETRY = "geometry"
    GEOGRAPHY = "geography"


@dataclass(frozen=True, slots=True)
class SimpleType:
    """A type without nested fields. `precision` and `scale` belong to decimal, `length` to fixed; `parameters` to
    geometry and geography, as written: the coordinate reference system and, for geography, the edge algorithm.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    length: int = 0
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class ListType:
    element: IcebergField


@dataclass(frozen=True, slots=True)
class MapOfType:
    key: IcebergField
    value: IcebergField


@dataclass(frozen=True, slots=True)
class StructOfType:
    fields: tuple[IcebergField, ...]

    def field(self, id: int) -> IcebergField | None:
        """Returns the direct field with this id."""
        return next((field for field in self.fields if field.id == id), None)


IcebergType: TypeAlias = SimpleType | ListType | MapOfType | StructOfType


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergField:
    """A column, or part of a nested one. Defaults are JSON: `initial_default` is the value in files that lack the
    field, `write_default` the value for new rows without one.
    """

    id: int
    name: str
    type: IcebergType
    required: bool
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSchema:
    schema_id: int
    struct: StructOfType
    identifier_ids: tuple[int, ...] = ()

    @property
    def fields(self) -> tuple[IcebergField, ...]:
        """Returns the top-level columns, in order."""
        return self.struct.fields


def walk(type_: IcebergType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], IcebergField]]:
    """Yields every field below a type, parents first, with its path; elements, keys and values are fields too."""
    for field in children(type_):
        yield (*path, field.name), field
        yield from walk(field.type, (*path, field.name))


def children(type_: IcebergType) -> tuple[IcebergField, ...]:
    """Returns a type's direct fields."""
    match type_:
        case StructOfType(fields):
            return fields
        case ListType(element):
            return (element,)
        case MapOfType(key, value):
            return (key, value)
        case SimpleType():
            return ()
        case _:
            assert_never(type_)


def type_name(type_: IcebergType) -> str:
    """Returns the JSON name, for messages."""
    match type_:
        case SimpleType(kind=Kind.DECIMAL):
            return f"decimal({type_.precision},{type_.scale})"
        case SimpleType(kind=Kind.FIXED):
            return f"fixed[{type_.length}]"
        case SimpleType() if type_.parameters:
            return f"{type_.kind.value}({type_.parameters})"
        case SimpleType():
            return type_.kind.value
        case ListType():
            return "list"
        case MapOfType():
            return "map"
        case StructOfType():
            return "struct"
        case _:
            assert_never(type_)


def schema_json(schema: IcebergSchema) -> dict[str, Any]:
    """Returns the schema's JSON, the inverse of `read_schema`."""
    return {
        "type": "struct",
        "schema-id": schema.schema_id,
        **({"identifier-field-ids": list(schema.identifier_ids)} if schema.identifier_ids else {}),
        "fields": [_field_json(field) for field in schema.fields],
    }


def _field_json(field: IcebergField) -> dict[str, Any]:
    value = {"id": field.id, "name": field.name, "required": field.required, "type": _type_json(field.type)}
    optional = {
        "doc": field.doc,
        "initial-default": field.initial_default,
        "write-default": field.write_default,
    }
    return value | {key: each for key, each in optional.items() if each is not None}


def _type_json(type_: IcebergType) -> Any:
    match type_:
        case SimpleType():
            return type_name(type_)
        case StructOfType(fields):
            return {"type": "struct", "fields": [_field_json(field) for field in fields]}
        case ListType(element):
            return {
                "type": "list",
                "element-id": element.id,
                "element": _type_json(element.type),
                "element-required": element.required,
            }
        case MapOfType(key, value):
            return {
                "type": "map",
                "key-id": key.id,
                "key": _type_json(key.type),
                "value-id": value.id,
                "value": _type_json(value.type),
                "value-required": value.required,
            }
        case _:
            assert_never(type_)


def read_schema(value: JsonObject, source: str) -> IcebergSchema:
    """Reads a schema. Raises `MalformedIcebergFile`."""
    if value.get("type") != "struct":
        raise value.error("is no struct")
    struct = _read_struct(value, source, 0)
    ids = [field.id for _, field in walk(struct)]
    if len(set(ids)) < len(ids):
        raise value.error("has two fields of one id")
    if any(not 0 <= number <= FIELD_ID_MAX for number in ids):
        raise value.error(f"has a field id that is not between 0 and {FIELD_ID_MAX}")
    return IcebergSchema(
        schema_id=value.integer("schema-id", 0),
        struct=struct,
        identifier_ids=value.integers("identifier-field-ids"),
    )


def _read_struct(value: JsonObject, source: str, depth: int) -> StructOfType:
    if "fields" not in value and value.get("fields") != []:
        raise value.error("has no fields")
    fields = tuple(
        IcebergField(
            id=field.integer("id"),
            name=field.text("name"),
            type=_read_type(field.get("type"), field, source, depth + 1),
            required=field.flag("required"),
            doc=field.text("doc", "") or None,
            initial_default=field.get("initial-default"),
            write_default=field.get("write-default"),
        )
        for field in value.objects("fields")
    )
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise value.error("has two fields of one name")
    return StructOfType(fields)


def _read_type(value: Any, holder: JsonObject, source: str, depth: int) -> IcebergType:
    if depth > _DEPTH_MAX:
        raise holder.error(f"is nested more than {_DEPTH_MAX} levels deep")
    if isinstance(value, str):
        return parse_type(value, source)
    inner = JsonObject(value, "type", source)
    match inner.get("type"):
        case "struct":
            return _read_struct(inner, source, depth)
        case "list":
            return ListType(_read_part(inner, "element", source, depth))
        case "map":
            key = _read_part(inner, "key", source, depth, always=True)
            return MapOfType(key, _read_part(inner, "value", source, depth))
        case other:  # JSON from a file
            raise inner.error(f"is {str(other)[:40]!r}, which is no type")


def _read_part(inner: JsonObject, name: str, source: str, depth: int, *, always: bool = False) -> IcebergField:
    return IcebergField(
        id=inner.integer(f"{name}-id"),
        name=name,
        type=_read_type(inner.get(name), inner, source, depth + 1),
        required=always or inner.flag(f"{name}-required"),
    )


def parse_type(text: str, source: str) -> SimpleType:
    """Parses a non-nested type. Raises `MalformedIcebergFile`."""
    match = _PARAMETERS.fullmatch(text.strip())
    name, inner = (match[1], match[2]) if match else (text.strip(), "")
    try:
        kind = Kind(name)
    except ValueError:
        raise MalformedIcebergFile(source, f"{text[:60]!r} is no type") from None
    if kind is Kind.DECIMAL:
        parts = _DECIMAL.fullmatch(inner)
        if parts is None or not 1 <= int(parts[1]) <= 38 or int(parts[2]) > int(parts[1]):
            raise MalformedIcebergFile(source, f"{text[:60]!r} is no decimal type")
        return SimpleType(kind, precision=int(parts[1]), scale=int(parts[2]))
    if kind is Kind.FIXED:
        if not inner.strip().isdecimal():
            raise MalformedIcebergFile(source, f"{text[:60]!r} has no length")
        return SimpleType(kind, length=int(inner))
    return SimpleType(kind, parameters=inner.strip())
