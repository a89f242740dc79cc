"""Live files and tombstones in Arrow: schemas, and conversion from log rows to columns.

One row is one logical file, identified by `(path, deletion vector id)`. Both tables have the path twice: `path` is
decoded and normalized, for comparing and opening files; `log_path` is the log's text, which a `Remove` must repeat. If
nothing is encoded, as is usual, both columns share one buffer.

Columns without values share a constant, so that a table with a million files uses memory only for the values in its
log.

Partition values become one dictionary-encoded string array per column, in bulk, because a map per file, as in the log,
is slow to read. A table has few distinct partition values, so four bytes per file and column are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.paths import paths_of
from engine.types.arrow_types import Array, RecordBatch

STRING_MAP = pa.map_(pa.string(), pa.string())
_ENTRIES = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))

# The schema for `Snapshot.files`: one row per live file.
FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),  # decoded; relative to the table root, or absolute
        ("log_path", pa.string()),  # as in the log
        ("size", pa.int64()),  # bytes
        ("modification_time", pa.int64()),  # milliseconds since the epoch
        ("data_change", pa.bool_()),  # from the commit that added the file
        ("partition_values", STRING_MAP),  # by physical name
        ("stats", pa.string()),  # JSON, null if the file has none
        ("deletion_vector", DELETION_VECTOR),
        ("tags", STRING_MAP),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("clustering_provider", pa.string()),
    ]
)

# The schema for `Snapshot.tombstones`: one row per removed file that has not expired.
TOMBSTONES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("log_path", pa.string()),
        ("deletion_timestamp", pa.int64()),  # milliseconds since the epoch
        ("data_change", pa.bool_()),
        ("extended_file_metadata", pa.bool_()),
        ("partition_values", STRING_MAP),
        ("size", pa.int64()),
        ("deletion_vector", DELETION_VECTOR),
        ("tags", STRING_MAP),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
    ]
)

# The schema for a commit's change data files.
CDC_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("log_path", pa.string()),
        ("size", pa.int64()),
        ("partition_values", STRING_MAP),
        ("tags", STRING_MAP),
    ]
)

_NULLS_MAX = 1 << 17


def nulls(data_type: Any, length: int) -> Array:
    """Returns a column with nulls. Columns with the same type share memory."""
    if length > _NULLS_MAX:
        return pa.nulls(length, data_type)
    return _shared_nulls(data_type).slice(0, length)


@lru_cache(maxsize=64)
def _shared_nulls(data_type: Any) -> Array:
    return pa.nulls(_NULLS_MAX, data_type)


def make_batch(schema: Any, columns: Mapping[str, Array], length: int) -> RecordBatch:
    """Builds a batch with one of the schemas above from the given columns.

    `columns` contains `log_path`; `path` is derived from it. Columns that are missing or all null share memory.
    """
    arrays = []
    for field in schema:
        array = paths_of(columns["log_path"]) if field.name == "path" else columns.get(field.name)
        if array is None or array.null_count == length:
            array = nulls(field.type, length)
        elif array.type != field.type:
            array = array.cast(field.type)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def file_keys(batch: RecordBatch) -> Array:
    """Returns each row's identity as one string: the path, then NUL and the deletion vector's id, if any."""
    paths, vectors = batch.column("path"), batch.column("deletion_vector")
    if vectors.null_count == len(vectors):
        return paths
    return pc.if_else(vectors.is_null(), paths, pc.binary_join_element_wise(paths, vector_ids(vectors), "\0"))


def vector_ids(vectors: Array) -> Array:
    """Returns the descriptors' unique ids, as the protocol derives them."""
    offset = pc.coalesce(pc.binary_join_element_wise("@", pc.cast(vectors.field("offset"), pa.string()), ""), "")
    return pc.binary_join_element_wise(vectors.field("storage_type"), vectors.field("path_or_inline_dv"), offset, "")


def map_array(maps: Iterable[Mapping[str, str | None] | None]) -> Array:
    """Builds a column with string maps; faster than passing pairs to `pa.array`."""
    offsets: list[int | None] = [0]
    keys: list[str] = []
    items: list[str | None] = []
    for one in maps:
        if one is None:
            # A null is encoded as a null *start* offset; the value after it is adjusted so that the preceding length
            # stays right.
            offsets[-1] = None
        else:
            keys.extend(one)
            items.extend(one.values())
        offsets.append(len(keys))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), pa.array(items, pa.string())
    )


def with_entries(maps: Array, entries: Mapping[str, Array]) -> Array:
    """Appends an entry to each string map for each key in `entries`.

    The arrays in `entries` have one text per map; null adds no entry. Appended entries come after the existing ones, so
    that they are the last for their keys.
    """
    count, added = len(maps), len(entries)
    lists = maps.cast(_ENTRIES)
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    flat = pc.list_flatten(lists)
    keys = pa.concat_arrays([flat.field("key"), *(pa.repeat(pa.scalar(key), count) for key in entries)])
    items = pa.concat_arrays([flat.field("value"), *(texts.cast(pa.string()) for texts in entries.values())])
    offsets = np.concatenate([[0], np.cumsum(lengths + added)])
    order = np.empty(len(keys), np.int64)
    order[np.arange(len(flat)) + added * np.repeat(np.arange(count), lengths)] = np.arange(len(flat))
    for position in range(added):
        order[offsets[1:] - added + position] = len(flat) + position * count + np.arange(count)
    places = pa.array(order)
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys.take(places), items.take(places))


def use_compact_memory() -> None:
    """Switches the process to jemalloc if this Arrow build includes it. Call once, at startup."""
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def partition_schema(physical_names: Iterable[str]) -> Any:
    """Returns the `pyarrow.Schema` for a table's partition values."""
    return pa.schema([(name, DICTIONARY) for name in physical_names])


def encode_partition_values(maps: Array, schema: Any) -> RecordBatch:
    """Converts maps to a batch with `schema` (a `partition_schema`), one row per map; a missing key is null."""
    count = len(maps)
    offsets = maps.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    keys = maps.keys.slice(first, last - first).dictionary_encode()
    items = maps.items.slice(first, last - first)
    codes = keys.indices.to_numpy()
    names = keys.dictionary.to_pylist()
    columns = []
    for name in schema.names:
        if name in names:
            positions = np.flatnonzero(codes == names.index(name))
            columns.append(_align(items, positions, offsets - first, count).dictionary_encode())
        else:
            columns.append(pa.nulls(count, DICTIONARY))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _align(items: Array, positions: npt.NDArray[np.int64], offsets: npt.NDArray[Any], count: int) -> Array:
    """Returns the items at `positions`, one per map; null for a map without an item."""
    width = len(items) // max(count, 1)
    if width and np.array_equal(offsets, np.arange(count + 1) * width):
        rows = positions // width  # the usual case, one writer: the same keys in every map
    else:
        rows = np.searchsorted(offsets, positions, "right") - 1
    if len(rows) == count and np.array_equal(rows, np.arange(count)):
        return items.take(pa.array(positions))
    index = np.full(count, -1, np.int64)
    index[rows] = positions
    return items.take(pa.array(index, mask=index < 0))
