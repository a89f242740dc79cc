"""Data files in Avro: which of them are read, the others are refused by name.

Spark's reader of Avro finds fields by the names that a file gives them, and tells no row by its index, as that of ORC
(`engine.iceberg.snapshot.orc_files`). A file's own schema says the ids. Refused are maps whose keys are no texts, which
are arrays of records in Avro and to Spark; times, which are numbers to it, of whatever unit a file has; and timestamps
without a zone, which it takes for those with one.

Source: Iceberg table specification, "Appendix A: Avro".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from engine.iceberg.manifests.avro import read_schema
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.footers import FIELD_ID, FileColumns, MappedName, named_columns, schemas_of
from engine.iceberg.spec.errors import IcebergFeatureNotSupported, MalformedIcebergFile
from engine.iceberg.spec.types import IcebergSchema, Kind, MapOfType, SimpleType, walk
from engine.storage.storage import Storage
from engine.table.scan import FileKind

_DEPTH_MAX = 100
_NOT_READ = frozenset([Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])


def read_avro_headers(
    storage: Storage, paths: Sequence[str], mapping: tuple[MappedName, ...] | None, decoded: Decoded
) -> list[FileColumns]:
    """For each data file in Avro. Raises as `read_footers`."""
    schemas = schemas_of(storage, paths, decoded, lambda file: pa.schema(_fields(read_schema(file, "A data file"))))
    return [
        named_columns(schema, FIELD_ID, mapping, path, FileKind.AVRO)
        for schema, path in zip(schemas, paths, strict=True)
    ]


def _fields(record: Any, depth: int = 0) -> list[pa.Field]:
    """The fields of a record with their ids, as Arrow has those of other formats; types of values are left out."""
    return [_field(each["name"], each.get("field-id"), each["type"], depth) for each in record["fields"]]


def _field(name: str, id: Any, kind: Any, depth: int) -> pa.Field:
    if depth > _DEPTH_MAX:
        raise MalformedIcebergFile("A data file", "its schema is too deep")
    metadata = {} if id is None else {FIELD_ID: str(int(id)).encode()}
    return pa.field(name, _type(kind, depth + 1), metadata=metadata)


def _type(kind: Any, depth: int) -> pa.DataType:
    if isinstance(kind, list):  # a union with null
        others = [each for each in kind if each != "null"]
        return _type(others[0], depth) if len(others) == 1 else pa.null()
    match kind:
        case {"type": "record"}:
            return pa.struct(_fields(kind, depth))
        case {"type": "array", "items": items}:
            return pa.list_(_field("element", kind.get("element-id"), items, depth))
        case {"type": "map", "values": values}:
            key = pa.field("key", pa.string(), nullable=False, metadata=_id(kind.get("key-id")))
            return pa.map_(key, _field("value", kind.get("value-id"), values, depth))
        case {"type": dict() | list() as inner}:
            return _type(inner, depth)
        case _:
            return pa.null()


def _id(id: Any) -> dict[bytes, bytes]:
    return {} if id is None else {FIELD_ID: str(int(id)).encode()}


def ensure_avro_readable(schema: IcebergSchema, files: pa.Table, columns: Sequence[FileColumns], label: str) -> None:
    """Raises `IcebergFeatureNotSupported`."""
    if files["deletion_vector"].null_count < files.num_rows:
        raise IcebergFeatureNotSupported(label, "position deletes of data files in Avro")
    for _, field in walk(schema.struct):
        if field.initial_default is not None and any(field.id not in each.ids for each in columns):
            raise IcebergFeatureNotSupported(label, f"the default of {field.name} for data files in Avro")
        if isinstance(field.type, SimpleType) and field.type.kind in _NOT_READ:
            raise IcebergFeatureNotSupported(label, f"the column {field.name} of data files in Avro")
        if isinstance(field.type, MapOfType) and field.type.key.type != SimpleType(Kind.STRING):
            raise IcebergFeatureNotSupported(label, f"the map {field.name} without text keys of data files in Avro")
