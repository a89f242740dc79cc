"""Reads the columns in data files: field ids, or names for a name mapping.

This is needed only if a table has a name mapping, or defaults inside nested columns, and for all files in ORC and Avro,
which Spark reads by names. Each file is read once.

Source: Iceberg table specification, "Name Mapping Serialization", "Column Projection"; "Appendix A: Parquet", "ORC".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.definition.properties import NAME_MAPPING
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.spec.types import IcebergSchema, walk
from engine.storage.storage import Storage
from engine.tables.scan import FileKind

# The id's key in an Arrow field's metadata.
FIELD_ID = b"PARQUET:field_id"
_ORC_ID = b"iceberg.id"
# Spark reads an ORC file by position if all column names begin so: old Hive versions wrote these names.
_BY_POSITION = "_col"
_AT_ONCE = 8
_ENTRY_BYTES = 200
# The parent id for fields inside an unmapped field.
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class MappedName:
    """A field's names in files without ids, and the nested mapping; `id` None: not a table field."""

    id: int | None
    names: tuple[str, ...]
    fields: tuple[MappedName, ...]


NamedField: TypeAlias = tuple[int, str, int | None]


@dataclass(frozen=True, slots=True)
class FileColumns:
    """A file's columns. `ids` are the fields in the file. `names` are their names, None if the file is read by its own
    ids.

    `fields` has all fields: the parent's id (0: none), the name, and the id, None for unmapped fields.
    """

    ids: frozenset[int]
    names: tuple[tuple[int, str], ...] | None
    kind: FileKind = FileKind.PARQUET
    fields: tuple[NamedField, ...] = ()


# For a file that was not read.
READ_BY_IDS = FileColumns(frozenset(), None)


def parse_name_mapping(text: str) -> tuple[MappedName, ...]:
    """Parses a name mapping. Raises `MalformedIcebergFile`."""
    try:
        return _parse_mapping(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedIcebergFile(f"The table property {NAME_MAPPING}", str(error)[:100]) from error


def _parse_mapping(values: Any) -> tuple[MappedName, ...]:
    return tuple(
        MappedName(
            id=value.get("field-id"),
            names=tuple(str(name) for name in value.get("names") or ()),
            fields=_parse_mapping(value.get("fields") or ()),
        )
        for value in values
    )


def read_footers(
    storage: Storage, paths: Sequence[str], mapping: tuple[MappedName, ...] | None, decoded: Decoded
) -> list[FileColumns]:
    """Reads each Parquet data file's columns.

    Raises `MalformedIcebergFile` for a file without ids if no mapping exists, or if two columns are the same field.
    """

    schemas = schemas_of(storage, paths, decoded, lambda file, _: pq.read_schema(file))
    return [file_columns(schema, mapping, path) for schema, path in zip(schemas, paths, strict=True)]


def read_orc_footers(
    storage: Storage, paths: Sequence[str], mapping: tuple[MappedName, ...] | None, decoded: Decoded
) -> list[FileColumns]:
    """Reads each ORC data file's columns. Raises like `read_footers`, and for files that Spark would read by
    position.
    """
    schemas = schemas_of(storage, paths, decoded, lambda file, _: po.ORCFile(file).schema)
    return [_orc_columns(schema, mapping, path) for schema, path in zip(schemas, paths, strict=True)]


def schemas_of(
    storage: Storage, paths: Sequence[str], decoded: Decoded, read: Callable[[Any, str], pa.Schema]
) -> list[pa.Schema]:
    """Returns the files' schemas; `read` takes an open file and its path."""

    def schema_of(path: str) -> pa.Schema:
        return decoded.get(("footer", storage.root, path), lambda: _schema(storage, path, read), _size)

    with ThreadPoolExecutor(_AT_ONCE, "footers") as threads:
        return list(threads.map(schema_of, paths))


def _schema(storage: Storage, path: str, read: Callable[[Any, str], pa.Schema]) -> pa.Schema:
    try:
        with storage.open_input(path) as file:
            return read(file, path)
    except (pa.ArrowException, OSError) as error:
        raise MalformedIcebergFile(path, str(error)[:100]) from error


def _size(schema: pa.Schema) -> int:
    return _ENTRY_BYTES * (len(schema) + 1)


def file_columns(schema: pa.Schema, mapping: tuple[MappedName, ...] | None, path: str) -> FileColumns:
    """Returns a Parquet file's columns. Raises like `read_footers`."""
    ids = frozenset(_ids(list(schema)))
    if ids:
        return FileColumns(ids, None, fields=tuple(_walk_fields(_columns_of(schema))))
    if mapping is None:
        raise MalformedIcebergFile(path, f"its columns have no ids, and the table has no property {NAME_MAPPING}")
    names = tuple(_names(list(schema), mapping))
    _ensure_one_name(names, path)
    return FileColumns(
        frozenset(id for id, _ in names), names, fields=tuple(_mapped_fields(_columns_of(schema), mapping))
    )


def _ensure_one_name(names: Iterable[tuple[int, str]], path: str) -> None:
    """Raises `MalformedIcebergFile` if two columns could be the same table column."""
    known: dict[int, str] = {}
    for id, name in names:
        if id in known:
            detail = f"its columns {known[id]} and {name} are both the field {id} by the property {NAME_MAPPING}"
            raise MalformedIcebergFile(path, detail)
        known[id] = name


def _orc_columns(schema: pa.Schema, mapping: tuple[MappedName, ...] | None, path: str) -> FileColumns:
    if all(name.startswith(_BY_POSITION) for name in schema.names):
        raise MalformedIcebergFile(path, f"all its columns have names that begin with {_BY_POSITION}")
    return named_columns(schema, _ORC_ID, mapping, path, FileKind.ORC)


def named_columns(
    schema: pa.Schema, key: bytes, mapping: tuple[MappedName, ...] | None, path: str, kind: FileKind
) -> FileColumns:
    """Returns the columns in a file that is read by names; `key` is the id's key in field metadata. Raises like
    `read_footers`.
    """
    fields = list(_fields_with_ids(list(schema), key))
    if not fields:
        return replace(file_columns(schema, mapping, path), kind=kind)
    return FileColumns(frozenset(id for id, _ in fields), tuple((id, field.name) for id, field in fields), kind=kind)


def _ids(fields: Sequence[pa.Field]) -> Iterator[int]:
    return (id for id, _ in _fields_with_ids(fields, FIELD_ID))


def _fields_with_ids(fields: Sequence[pa.Field], key: bytes) -> Iterator[tuple[int, pa.Field]]:
    """Yields fields with ids, at any depth; `key` is the id's key in field metadata."""
    for field in fields:
        text = (field.metadata or {}).get(key)
        if text is not None and int(text) >= 0:
            yield int(text), field
        yield from _fields_with_ids([inner for _, inner in _inner(field.type)], key)


def _names(fields: Sequence[pa.Field], mapping: Sequence[MappedName]) -> Iterator[tuple[int, str]]:
    by_name: Mapping[str, MappedName] = {name: each for each in mapping for name in each.names}
    for field in fields:
        found = by_name.get(field.name)
        if found is None:
            continue
        if found.id is not None:
            yield found.id, field.name
        yield from _inner_names(field, found)


def _inner_names(field: pa.Field, found: MappedName) -> Iterator[tuple[int, str]]:
    if pa.types.is_struct(field.type):
        yield from _names(list(field.type), found.fields)
        return
    for part, inner in _inner(field.type):
        mapped = next((each for each in found.fields if part in each.names), None)
        if mapped is not None:
            if mapped.id is not None:
                yield mapped.id, part
            yield from _inner_names(inner, mapped)


def _walk_fields(parts: Iterable[tuple[str, pa.Field]], around: int = 0) -> Iterator[NamedField]:
    """Yields all fields in a file with ids; `parts` are fields by name, including elements, keys and values."""
    for name, field in parts:
        text = (field.metadata or {}).get(FIELD_ID)
        id = int(text) if text is not None and int(text) >= 0 else None
        yield around, name, id
        yield from _walk_fields(_inner(field.type), _UNKNOWN if id is None else id)


def _mapped_fields(
    parts: Iterable[tuple[str, pa.Field]], mapping: Sequence[MappedName], around: int = 0
) -> Iterator[NamedField]:
    """Yields all fields in a file without ids."""
    by_name = {name: each for each in mapping for name in each.names}
    for name, field in parts:
        found = by_name.get(name)
        id = None if found is None else found.id
        yield around, name, id
        inner = () if found is None else found.fields
        yield from _mapped_fields(_inner(field.type), inner, _UNKNOWN if id is None else id)


def _columns_of(schema: pa.Schema) -> list[tuple[str, pa.Field]]:
    return [(field.name, field) for field in schema]


def _inner(type_: pa.DataType) -> list[tuple[str, pa.Field]]:
    if pa.types.is_struct(type_):
        return [(field.name, field) for field in type_]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [("element", type_.value_field)]
    if pa.types.is_map(type_):
        return [("key", type_.key_field), ("value", type_.item_field)]
    return []


def common_names(files: Sequence[FileColumns], schema: IcebergSchema) -> Mapping[int, str] | None:
    """Returns the names that all files use for the table's fields; None if names are ambiguous, ignoring case.

    Another field, possibly a dropped one, may have the name, or a field may have two.
    """
    known = {field.id for _, field in walk(schema.struct)}
    names: dict[int, str] = {}
    owners: dict[tuple[int, str], int | None] = {}
    for around, name, id in {field for each in files for field in each.fields}:
        ours = id if id in known else None
        if owners.setdefault((around, name.casefold()), ours) != ours:
            return None
        if ours is not None and names.setdefault(ours, name) != name:
            return None
    return names
