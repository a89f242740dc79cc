"""Data files in Avro: which columns can be read; others are rejected with an error that names them.

Spark's Avro reader finds fields by the file's names, and does not provide row indexes, like its ORC reader
(`engine.iceberg.snapshot.file_kinds`). The file's own schema has the ids. Not readable are maps with keys other than
text, which Avro and Spark represent as arrays with records; times, which Spark reads as numbers in the file's unit; and
timestamps without a zone, which Spark reads as timestamps with one. Queries on other columns work.

Source: Iceberg table specification, "Appendix A: Avro".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from engine.iceberg.manifests.avro import no_avro, read_schema
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.footers import FIELD_ID, FileColumns, MappedName, named_columns, schemas_of
from engine.iceberg.spec.types import IcebergField, Kind, MapOfType, SimpleType
from engine.storage.storage import Storage
from engine.tables.scan import FileKind

_DEPTH_MAX = 100
_FIELDS_MAX = 100_000
_PRIMITIVE = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
_NOT_READ = frozenset([Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS, Kind.VARIANT])


def read_avro_headers(
    storage: Storage, paths: Sequence[str], mapping: tuple[MappedName, ...] | None, decoded: Decoded
) -> list[FileColumns]:
    """Reads each Avro data file's columns. Raises like `read_footers`."""
    schemas = schemas_of(storage, paths, decoded, read_avro_columns)
    return [
        named_columns(schema, FIELD_ID, mapping, path, FileKind.AVRO)
        for schema, path in zip(schemas, paths, strict=True)
    ]


def read_avro_columns(file: BinaryIO, path: str) -> pa.Schema:
    """Returns a file's columns with their ids. Raises `MalformedIcebergFile`."""
    with no_avro(path):
        return _Schema().columns(read_schema(file, path))


class _Schema:
    """A file's schema in the Arrow form that other formats have: fields with ids, without value types.

    A named type may be referenced by its name, with or without its namespace.
    """

    def __init__(self) -> None:
        self._named: dict[str, tuple[pa.DataType, int]] = {}
        self._count = 0

    def columns(self, kind: Any) -> pa.Schema:
        record = self._type(kind, "", 0)
        if not pa.types.is_struct(record):
            raise ValueError("its rows are no records")
        return pa.schema(list(record))

    def _field(self, name: str, id: Any, kind: Any, space: str, depth: int) -> pa.Field:
        if depth > _DEPTH_MAX:
            raise ValueError("its schema is too deep")
        self._count_fields(1)
        return pa.field(name, self._type(kind, space, depth + 1), metadata=_id(id))

    def _type(self, kind: Any, space: str, depth: int) -> pa.DataType:
        """Converts a type; `space` is the enclosing record's namespace."""
        match kind:
            case list():  # a union, usually with null
                others = [self._type(each, space, depth) for each in kind if each != "null"]
                return others[0] if len(others) == 1 else pa.null()
            case {"type": "record", "fields": fields}:
                full, before = _full_name(kind, space), self._count
                inner = full.rpartition(".")[0]
                found = pa.struct(
                    [self._field(each["name"], each.get("field-id"), each["type"], inner, depth) for each in fields]
                )
                self._named[full] = found, self._count - before
                return found
            case {"type": "fixed" | "enum"}:
                self._named[_full_name(kind, space)] = pa.null(), 0
                return pa.null()
            case {"type": "array", "items": items}:
                return pa.list_(self._field("element", kind.get("element-id"), items, space, depth))
            case {"type": "map", "values": values}:
                key = pa.field("key", pa.string(), nullable=False, metadata=_id(kind.get("key-id")))
                return pa.map_(key, self._field("value", kind.get("value-id"), values, space, depth))
            case {"type": inner_kind}:
                return self._type(inner_kind, space, depth)
            case str() if kind in _PRIMITIVE:
                return pa.null()
            case str():
                return self._again(kind, space)
            case _:  # JSON from a file
                raise ValueError("its schema has a type that Avro has not")

    def _again(self, name: str, space: str) -> pa.DataType:
        """Returns a named type. An incomplete one, as in a recursive record, is ignored."""
        full = name if "." in name or not space else f"{space}.{name}"
        known = self._named.get(full) or self._named.get(name)
        if known is None:
            raise ValueError(f"its schema has no complete type {name}")
        self._count_fields(known[1])
        return known[0]

    def _count_fields(self, count: int) -> None:
        self._count += count
        if self._count > _FIELDS_MAX:
            raise ValueError(f"its schema has more than {_FIELDS_MAX} fields")


def _full_name(kind: Any, space: str) -> str:
    name = str(kind["name"])
    own = kind.get("namespace", space)
    return name if "." in name or not own else f"{own}.{name}"


def _id(id: Any) -> dict[bytes, bytes]:
    return {} if id is None else {FIELD_ID: str(int(id)).encode()}


def unread_in_avro(field: IcebergField, columns: Sequence[FileColumns]) -> str | None:
    """Returns the part in a field or column that cannot be read from Avro files with `columns`; None if all can."""
    if field.initial_default is not None and any(field.id not in each.ids for each in columns):
        return f"the default of {field.name} for data files in Avro"
    if all(field.id not in each.ids for each in columns):
        return None  # NULL, for any type
    if isinstance(field.type, SimpleType) and field.type.kind in _NOT_READ:
        return f"the column {field.name} of data files in Avro"
    if isinstance(field.type, MapOfType) and field.type.key.type != SimpleType(Kind.STRING):
        return f"the map {field.name} without text keys of data files in Avro"
    return None
