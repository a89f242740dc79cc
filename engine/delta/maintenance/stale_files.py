"""Files whose rows need a feature that the newest schema does not; a rewrite makes the feature unnecessary.

These are files with a deletion vector, all files in a table with column mapping, and files written before a type
widening, which keep the narrower type. The log does not record the latter, so their footers are read, one read per
file.

Protocol: "Deletion Vectors", "Type Widening" (removal requires that all files have the schema's types).
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
    """Returns the live files with deletion vectors, in `FILES_SCHEMA`."""
    files = snapshot.files
    return files.filter(pc.is_valid(files.column("deletion_vector")))


def with_mapped_names(snapshot: Snapshot) -> pa.Table:
    """Returns all live files in a table with column mapping, in `FILES_SCHEMA`.

    Even files with the logical names are included: equal names denote the same column only with equal ids.
    """
    is_mapped = snapshot.config.column_mapping_mode != NO_MAPPING
    return snapshot.files if is_mapped else snapshot.files.slice(0, 0)


def with_dropped_columns(snapshot: Snapshot, files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns a mask of live files that contain columns or fields which the schema lacks; one read per file.

    Only column mapping permits dropping a column without rewriting its data.
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
    """Finds live files that have a widened column in a narrower type, in `FILES_SCHEMA`.

    Files that were found to have a version's types are not read again for a later one.
    """

    def __init__(self) -> None:
        self._columns: tuple[StructField, ...] = ()
        self._fitting: set[str] = set()

    def __call__(self, snapshot: Snapshot) -> pa.Table:
        columns = _widened_columns(snapshot)
        mode = snapshot.config.column_mapping_mode
        files = snapshot.files
        if not columns or mode == _ID_MAPPING:  # files in a table mapped by id may use any column names
            return files if columns else files.slice(0, 0)
        if columns != self._columns:
            self._columns = columns
            self._fitting = set()
        paths = files.column("path").to_pylist()
        unknown = [path for path in paths if path not in self._fitting]
        with ThreadPoolExecutor(_READERS_MAX, "footers") as threads:
            fits = threads.map(lambda path: _has_types(snapshot.storage, path, columns), unknown)
            # A file never changes after its commit, so that its types need one look for as
            # long as the wanted columns stay the same.
            self._fitting.update(path for path, fit in zip(unknown, fits, strict=True) if fit)
        return files.filter(pa.array([path not in self._fitting for path in paths], pa.bool_()))


# By final feature name: creates the function that finds the files that need the feature.
STALE_FILES: Mapping[str, Callable[[], Callable[[Snapshot], pa.Table]]] = MappingProxyType(
    {
        "columnMapping": lambda: with_mapped_names,
        "deletionVectors": lambda: with_deleted_rows,
        "typeWidening": NarrowerTypes,
    }
)

_ID_MAPPING = "id"


def _widened_columns(snapshot: Snapshot) -> tuple[StructField, ...]:
    """Returns the columns that contain a widened field at any depth, under physical names."""
    names = {path[0] for path, field in walk_fields(snapshot.schema) if TYPE_CHANGES in field.metadata}
    fields = StructType(tuple(field for field in snapshot.schema.fields if field.name in names))
    return physical_schema(fields, snapshot.config.column_mapping_mode).fields


def _has_more(storage: Storage, path: str, known: StructType) -> bool:
    with storage.open_input(path) as source:
        return _exceeds(pa.struct(list(pq.read_schema(source))), known)


def _exceeds(found: Any, known: DataType) -> bool:
    """Returns whether a file column has fields that the schema lacks."""
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
    """Checks one field. A column that a file lacks is null in all types."""
    at = found.get_field_index(field.name)
    return at < 0 or _fits(found.field(at).type, field.data_type)


def _fits(found: Any, wanted: DataType) -> bool:
    """Returns whether a file column has the type. For types without a narrower type, any type is accepted."""
    match wanted:
        case StructType(fields):
            return pa.types.is_struct(found) and all(_fits_field(found, field) for field in fields)
        case ArrayType(element):
            return pa.types.is_list(found) and _fits(found.value_type, element)
        case MapType(key, value):
            return pa.types.is_map(found) and _fits(found.key_type, key) and _fits(found.item_type, value)
        case DecimalType(precision, scale):
            return pa.types.is_decimal(found) and (found.precision, found.scale) == (precision, scale)
        # "Type Widening" leads here from date alone, so that any timestamp in the file has
        # the type already.
        case PrimitiveType.TIMESTAMP_NTZ:
            return bool(pa.types.is_timestamp(found))
        case PrimitiveType():
            return wanted not in _WIDENED_TO or bool(found == arrow_type(wanted))
        case _:
            assert_never(wanted)


_WIDENED_TO = frozenset({PrimitiveType.SHORT, PrimitiveType.INTEGER, PrimitiveType.LONG, PrimitiveType.DOUBLE})
