"""Files whose rows need a feature to be understood, though the newest schema does not: what a rewrite would free of it.

A file with a deletion vector is one, so is any file of a table with column mapping, and a file that was written before
a column was widened, and keeps the narrower type. The log does not say which files these are, so their footers are
asked; that is one read a file.

Protocol: "Deletion Vectors", "Type Widening" (its removal demands that no file has another type than the schema).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.delta.schema.column_mapping import NO_MAPPING, physical_schema
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from engine.storage.storage import Storage
from engine.types.arrow_types import arrow_type
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

_READERS_MAX = 8


def with_deleted_rows(snapshot: Snapshot) -> pa.Table:
    """The live files that have deletion vectors, of `FILES_SCHEMA`."""
    files = snapshot.files
    return files.filter(pc.is_valid(files.column("deletion_vector")))


def with_mapped_names(snapshot: Snapshot) -> pa.Table:
    """All live files of a table with column mapping, of `FILES_SCHEMA`: even equal names come with equal ids only."""
    is_mapped = snapshot.config.column_mapping_mode != NO_MAPPING
    return snapshot.files if is_mapped else snapshot.files.slice(0, 0)


def with_dropped_columns(snapshot: Snapshot, files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each of these live files, whether it has columns or fields that the schema has no more: one read a file.

    Only column mapping lets a column go and its data stay.
    """
    config = snapshot.config
    if config.column_mapping_mode == NO_MAPPING:
        return np.zeros(files.num_rows, np.bool_)
    ids = (config.get(ROW_ID_COLUMN), config.get(ROW_COMMIT_VERSION_COLUMN))
    schema = physical_schema(snapshot.schema, config.column_mapping_mode)
    known = StructType((*schema.fields, *(StructField(name, PrimitiveType.LONG) for name in ids if name is not None)))
    with ThreadPoolExecutor(_READERS_MAX, "footers") as threads:
        more = threads.map(lambda path: _has_more(snapshot.storage, path, known), files.column("path").to_pylist())
        return np.fromiter(more, np.bool_, files.num_rows)


class NarrowerTypes:
    """The live files that have a widened column in another type than it has now, of `FILES_SCHEMA`.

    Files that were found to have the types of a version are not asked again in a later one.
    """

    def __init__(self) -> None:
        self._columns: tuple[StructField, ...] = ()
        self._fitting: set[str] = set()

    def __call__(self, snapshot: Snapshot) -> pa.Table:
        columns = _widened(snapshot)
        mode = snapshot.config.column_mapping_mode
        files = snapshot.files
        if not columns or mode == _ID_MAPPING:  # files of a table that is mapped by id may call a column anything
            return files if columns else files.slice(0, 0)
        if columns != self._columns:
            self._columns = columns
            self._fitting = set()
        paths = files.column("path").to_pylist()
        unknown = [path for path in paths if path not in self._fitting]
        with ThreadPoolExecutor(_READERS_MAX, "footers") as threads:
            fits = threads.map(lambda path: _has_types(snapshot.storage, path, columns), unknown)
            self._fitting.update(path for path, fit in zip(unknown, fits, strict=True) if fit)
        return files.filter(pa.array([path not in self._fitting for path in paths], pa.bool_()))


STALE_FILES: Mapping[str, Callable[[], Callable[[Snapshot], pa.Table]]] = MappingProxyType(
    {
        "columnMapping": lambda: with_mapped_names,
        "deletionVectors": lambda: with_deleted_rows,
        "typeWidening": NarrowerTypes,
    }
)
"""Feature, by its final name -> makes what finds the files that need it."""

_ID_MAPPING = "id"


def _widened(snapshot: Snapshot) -> tuple[StructField, ...]:
    """The columns that hold a widened field at any depth, under physical names."""
    names = {path[0] for path, field in walk_fields(snapshot.schema) if TYPE_CHANGES in field.metadata}
    fields = StructType(tuple(field for field in snapshot.schema.fields if field.name in names))
    return physical_schema(fields, snapshot.config.column_mapping_mode).fields


def _has_more(storage: Storage, path: str, known: StructType) -> bool:
    with storage.open_input(path) as source:
        return _exceeds(pa.struct(list(pq.read_schema(source))), known)


def _exceeds(found: Any, known: DataType) -> bool:
    """Has a column of a file fields that the schema does not know?"""
    match known:
        case StructType() if pa.types.is_struct(found):
            fields = {field.name: field.data_type for field in known.fields}
            return any(
                each.name not in fields or _exceeds(each.type, fields[each.name])
                for each in (found.field(at) for at in range(found.num_fields))
            )
        case ArrayType(element) if pa.types.is_list(found):
            return _exceeds(found.value_type, element)
        case MapType(key, value) if pa.types.is_map(found):
            return _exceeds(found.key_type, key) or _exceeds(found.item_type, value)
        case StructType() | ArrayType() | MapType() | PrimitiveType() | DecimalType():  # or the file has another type
            return False
        case _:
            assert_never(known)


def _has_types(storage: Storage, path: str, columns: Iterable[StructField]) -> bool:
    with storage.open_input(path) as source:
        schema = pq.read_schema(source)
    found = pa.struct(list(schema))
    return all(_fits_field(found, column) for column in columns)


def _fits_field(found: Any, field: StructField) -> bool:
    """A column that a file lacks is null in all types."""
    at = found.get_field_index(field.name)
    return at < 0 or _fits(found.field(at).type, field.data_type)


def _fits(found: Any, wanted: DataType) -> bool:
    """Has a column of a file the type? Of what nothing can be widened to, any will do."""
    match wanted:
        case StructType(fields):
            return pa.types.is_struct(found) and all(_fits_field(found, field) for field in fields)
        case ArrayType(element):
            return pa.types.is_list(found) and _fits(found.value_type, element)
        case MapType(key, value):
            return pa.types.is_map(found) and _fits(found.key_type, key) and _fits(found.item_type, value)
        case DecimalType(precision, scale):
            return pa.types.is_decimal(found) and (found.precision, found.scale) == (precision, scale)
        case PrimitiveType.TIMESTAMP_NTZ:
            return bool(pa.types.is_timestamp(found))
        case PrimitiveType():
            return wanted not in _WIDENED_TO or bool(found == arrow_type(wanted))
        case _:
            assert_never(wanted)


_WIDENED_TO = frozenset({PrimitiveType.SHORT, PrimitiveType.INTEGER, PrimitiveType.LONG, PrimitiveType.DOUBLE})
