"""Column changes: applied to the schema in Spark's form, then converted back to fields with ids.

    columns with ids ─► Spark's schema, the ids in its metadata ─► the change (`engine.types.schema_changes`) ─► columns

A field that returns with an id is the original field, and retains type details that Spark does not show (a `uuid` is
text there). A field without id gets a new id. A struct's fields are numbered before their nested fields, as in
Iceberg's own writers.

Source: Iceberg table specification, "Schema Evolution", "Identifier Field IDs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from catalog.conditions import AddedColumnNotNull, IcebergChangeNotSupported, IcebergColumnChangeRefused
from engine.iceberg.definition.column_types import CURRENT_DEFAULT, default_text, table_type
from engine.iceberg.definition.defaults import default_json
from engine.iceberg.spec.types import (
    FIELD_ID_MAX,
    IcebergField,
    IcebergType,
    Kind,
    ListType,
    MapOfType,
    SimpleType,
    StructOfType,
    type_name,
)
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

# The first format version with column defaults.
DEFAULTS_SINCE = 3
# Metadata key for a column's id.
ID = "iceberg.id"
_COMMENT = "comment"
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
_KNOWN = frozenset({ID, _COMMENT, CURRENT_DEFAULT, _LENGTH})
# Column kinds that only Delta has, by metadata key prefix.
_KINDS = {"delta.generationExpression": "generated", "delta.identity.": "identity"}
_NEW: Mapping[PrimitiveType, Kind] = {
    PrimitiveType.STRING: Kind.STRING,
    PrimitiveType.LONG: Kind.LONG,
    PrimitiveType.INTEGER: Kind.INT,
    PrimitiveType.SHORT: Kind.INT,
    PrimitiveType.BYTE: Kind.INT,
    PrimitiveType.FLOAT: Kind.FLOAT,
    PrimitiveType.DOUBLE: Kind.DOUBLE,
    PrimitiveType.BOOLEAN: Kind.BOOLEAN,
    PrimitiveType.BINARY: Kind.BINARY,
    PrimitiveType.DATE: Kind.DATE,
    PrimitiveType.TIMESTAMP: Kind.TIMESTAMPTZ,
    PrimitiveType.TIMESTAMP_NTZ: Kind.TIMESTAMP,
}
# Types added in format version 3.
_NEW_3: Mapping[PrimitiveType, Kind] = {
    PrimitiveType.VOID: Kind.UNKNOWN,
    PrimitiveType.VARIANT: Kind.VARIANT,
}
_PROMOTIONS = frozenset({(Kind.INT, Kind.LONG), (Kind.FLOAT, Kind.DOUBLE)})
_PROMOTIONS_3 = frozenset({(Kind.DATE, Kind.TIMESTAMP)})


def spark_columns(struct: StructOfType) -> StructType:
    """Returns the columns in Spark's form, with ids, comments and defaults in their metadata."""
    return StructType(tuple(_spark_field(field) for field in struct.fields))


def _spark_field(field: IcebergField) -> StructField:
    metadata: dict[str, Any] = {ID: field.id}
    if field.doc is not None:
        metadata[_COMMENT] = field.doc
    if field.write_default is not None:
        metadata[CURRENT_DEFAULT] = default_text(field.type, field.write_default)
    return StructField(field.name, _spark_type(field.type), not field.required, metadata)


def _spark_type(type_: IcebergType) -> DataType:
    match type_:
        case ListType(element):
            return ArrayType(_spark_type(element.type), not element.required)
        case MapOfType(key, value):
            return MapType(_spark_type(key.type), _spark_type(value.type), not value.required)
        case StructOfType():
            return spark_columns(type_)
        case SimpleType():
            return table_type(type_)
        case _:
            assert_never(type_)


@dataclass(slots=True)
class Numbering:
    """Assigns ids above all that a table ever had."""

    last: int

    def next(self) -> int:
        """Returns the next unused field id.

        Raises `IcebergChangeNotSupported` if none is left below the reserved ones.
        """
        self.last += 1
        if self.last > FIELD_ID_MAX:
            raise IcebergChangeNotSupported("", f"more than {FIELD_ID_MAX} columns in its life")
        return self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReader:
    """Converts columns from Spark's form to fields. `known` has the existing fields by id.

    With `is_new` no data exists yet (or none remains), so columns may be NOT NULL and absent from files.
    """

    table: str
    format_version: int
    known: Mapping[int, IcebergField]
    numbering: Numbering
    is_new: bool

    def read(self, schema: StructType) -> StructOfType:
        """Converts the schema.

        Raises `IcebergColumnChangeRefused`, `IcebergDefaultRefused`, `IcebergChangeNotSupported`, `AddedColumnNotNull`.
        """
        return self._struct(schema, (), self.is_new)

    def _struct(self, struct: StructType, path: tuple[str, ...], is_new: bool) -> StructOfType:
        """Converts a struct; numbers its fields first.

        `is_new`: no file has the struct, so its fields may be NOT NULL; existing rows have NULL for the whole struct.
        """
        ids = [field.metadata.get(ID) for field in struct.fields]
        numbers = [self.numbering.next() if id is None else id for id in ids]
        fields = zip(numbers, struct.fields, strict=True)
        return StructOfType(tuple(self._field(id, field, (*path, field.name), is_new) for id, field in fields))

    def _field(self, id: int, field: StructField, path: tuple[str, ...], is_new: bool) -> IcebergField:
        name = ".".join(path)
        unknown = sorted(field.metadata.keys() - _KNOWN)
        if unknown:
            kind = next((said for key, said in _KINDS.items() if unknown[0].startswith(key)), None)
            what = f"the column {name} with {', '.join(unknown)}" if kind is None else f"the {kind} column {name}"
            raise IcebergChangeNotSupported(self.table, what)
        old = self.known.get(id)
        type_ = self._type(old.type if old else None, field.data_type, path)
        if old is not None and not old.required and not field.nullable and not self.is_new:
            raise IcebergColumnChangeRefused(name, "NOT NULL")
        found = IcebergField(
            id=id,
            name=field.name,
            type=type_,
            required=not field.nullable,
            doc=field.metadata.get(_COMMENT),
            initial_default=None if old is None or self.is_new else old.initial_default,
        )
        return self._with_default(found, old, field.metadata.get(CURRENT_DEFAULT), name, is_new)

    def _with_default(
        self, found: IcebergField, old: IcebergField | None, text: str | None, name: str, is_new: bool
    ) -> IcebergField:
        if old is not None and old.write_default is not None and text == default_text(old.type, old.write_default):
            return replace(found, write_default=old.write_default)
        value = None if text is None else default_json(name, found.type, text)
        if value is not None and self.format_version < DEFAULTS_SINCE:
            what = (
                f"a default (of the column {name}) before the format version 3, which the property format-version sets"
            )
            raise IcebergChangeNotSupported(self.table, what)
        is_added = old is None and not is_new
        if is_added and found.required and value is None:
            raise AddedColumnNotNull(name)
        initial = value if is_added else found.initial_default
        return replace(found, initial_default=initial, write_default=value)

    def _type(self, old: IcebergType | None, new: DataType, path: tuple[str, ...]) -> IcebergType:
        match new, old:
            case StructType(), None | StructOfType():
                return self._struct(new, path, self.is_new or old is None)
            case ArrayType(element, contains_null), None | ListType():
                part = old.element if isinstance(old, ListType) else None
                return ListType(self._part(part, "element", element, contains_null, path))
            case MapType(key, value, contains_null), None | MapOfType():
                keys, values = (old.key, old.value) if isinstance(old, MapOfType) else (None, None)
                if keys is not None and _spark_type(keys.type) != key:
                    raise IcebergColumnChangeRefused(".".join(path), "A change of the keys of a map")
                first = self._part(keys, "key", key, False, path)
                return MapOfType(first, self._part(values, "value", value, contains_null, path))
            case ((PrimitiveType() | DecimalType()), None):
                return self._simple(new, path)
            case ((PrimitiveType() | DecimalType()), SimpleType()):
                return self._promote(old, new, path)
            case _:  # any other pair of types
                raise IcebergColumnChangeRefused(".".join(path), f"Another type than {type_name(old) if old else ''}")

    def _part(
        self, old: IcebergField | None, name: str, data_type: DataType, nullable: bool, path: tuple[str, ...]
    ) -> IcebergField:
        """Converts an element, key or value. Keys and values are numbered before their nested fields."""
        id = self.numbering.next() if old is None else old.id
        if old is not None and not old.required and not nullable:
            raise IcebergColumnChangeRefused(".".join((*path, name)), "NOT NULL")
        type_ = self._type(old.type if old else None, data_type, (*path, name))
        return IcebergField(id=id, name=name, type=type_, required=not nullable)

    def _simple(self, new: PrimitiveType | DecimalType, path: tuple[str, ...]) -> SimpleType:
        if isinstance(new, DecimalType):
            return SimpleType(Kind.DECIMAL, precision=new.precision, scale=new.scale)
        kind = _NEW.get(new)
        if kind is None and self.format_version >= 3:
            kind = _NEW_3.get(new)
        if kind is None:
            raise IcebergChangeNotSupported(self.table, f"the column {'.'.join(path)} of the type {new.value}")
        return SimpleType(kind)

    def _promote(self, old: SimpleType, new: PrimitiveType | DecimalType, path: tuple[str, ...]) -> SimpleType:
        if table_type(old) == new:
            return old
        new_type = self._simple(new, path)
        is_wider_decimal = (
            old.kind is Kind.DECIMAL is new_type.kind
            and old.scale == new_type.scale
            and old.precision <= new_type.precision
        )
        kinds = (old.kind, new_type.kind)
        is_promotion = kinds in _PROMOTIONS or (self.format_version >= 3 and _is_promotion_3(old, new_type))
        if not is_promotion and not is_wider_decimal:
            raise IcebergColumnChangeRefused(".".join(path), f"A change from {type_name(old)} to {type_name(new_type)}")
        return new_type


def _is_promotion_3(old: SimpleType, new: SimpleType) -> bool:
    return old.kind is Kind.UNKNOWN or (old.kind, new.kind) in _PROMOTIONS_3


def with_ids_of(schema: StructType, fields: tuple[IcebergField, ...]) -> StructType:
    """Returns a replaced table's columns: a column with the same name and simple type keeps its id, unless its real
    type differs from the exposed one.
    """
    known: Callable[[str], IcebergField | None] = {field.name: field for field in fields}.get
    return StructType(
        tuple(
            replace(column, metadata={**column.metadata, ID: old.id})
            if (old := known(column.name)) is not None
            and isinstance(old.type, SimpleType)
            and _is_made_of(old.type, column.data_type)
            else column
            for column in schema.fields
        )
    )


def _is_made_of(own: SimpleType, shown: DataType) -> bool:
    """Returns True if a new column with the exposed type has this type."""
    kinds = (_NEW.get(shown), _NEW_3.get(shown)) if isinstance(shown, PrimitiveType) else (Kind.DECIMAL,)
    return own.kind in kinds and table_type(own) == shown
