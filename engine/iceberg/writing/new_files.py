"""Converts written data files into manifest entries.

Source: Iceberg table specification, "Data File Fields".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.iceberg.manifests.manifest import DATA, ENTRIES, PARTITION_PREFIX, SPEC_ID
from engine.iceberg.manifests.metrics import encode_map
from engine.iceberg.spec.partitions import PartitionSpec
from engine.iceberg.spec.types import IcebergSchema
from engine.iceberg.writing.footer_metrics import Leaf, ParquetMetrics, leaves_of, metrics_of
from engine.iceberg.writing.metrics_modes import metrics_modes
from engine.iceberg.writing.partition_tuples import partition_columns
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.storage import Storage
from engine.tables.transaction import DataFile

PARQUET = "PARQUET"
_READERS_MAX = 8
_PARTITION_VALUE = re.compile(f"{PARTITION_PREFIX}[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSchema:
    """The schema for writing files. `location` is the metadata's. Files have `sort_order_id` if their rows are sorted
    so; columns in `sorted_ids` have bounds whatever the properties are.
    """

    location: str
    schema: IcebergSchema
    spec: PartitionSpec
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sort_order_id: int | None = None
    sorted_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergNewFiles:
    """See `engine.tables.transaction.NewFiles`. `entries` have the `ENTRIES` columns, `SPEC_ID` and partition values;
    they inherit status, snapshot and sequence numbers. `paths` are relative to the table's folder.
    """

    entries: pa.Table
    paths: tuple[str, ...]
    empty: tuple[str, ...] = ()
    # Empty: needed only for identity columns, which the format does not have.
    min_max_values: Mapping[str, tuple[Any, Any]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def num_files(self) -> int:
        return int(self.entries.num_rows)

    @property
    def num_rows(self) -> int:
        return int(pc.sum(self.entries["record_count"]).as_py() or 0)

    @property
    def num_bytes(self) -> int:
        return int(pc.sum(self.entries["file_size_in_bytes"]).as_py() or 0)

    @property
    def files(self) -> pa.Table:
        return scanned_files(pa.array(self.paths, pa.string()), self.entries)

    def with_others(self, others: Self) -> Self:
        return replace(
            self,
            entries=pa.concat_tables([self.entries, others.entries], promote_options="default"),
            paths=(*self.paths, *others.paths),
            empty=(*self.empty, *others.empty),
        )


def scanned_files(paths: Any, entries: pa.Table, deleted: pa.Array | None = None) -> pa.Table:
    """Adds the columns that every `Scan.files` has, and deletion vectors, to entries. `paths` as in scans."""
    count = entries.num_rows
    partition = {name: entries[name] for name in entries.column_names if is_partition_column(name)}
    return pa.table(
        {
            "path": paths,
            "size": entries["file_size_in_bytes"],
            "modification_time": pa.array(np.zeros(count, np.int64)),
            "partition_values": _no_values(count),
            "record_count": entries["record_count"],
            "deletion_vector": pa.nulls(count, DELETION_VECTOR) if deleted is None else deleted,
            **partition,
            "base_row_id": entries["first_row_id"],
            "default_row_commit_version": entries["sequence_number"],
        }
    ).combine_chunks()


def is_partition_column(name: str) -> bool:
    """Returns True for a column that identifies a file's partition: the spec, or a field's value."""
    return name == SPEC_ID or _PARTITION_VALUE.fullmatch(name) is not None


def partitions_of(files: Any) -> list[str]:
    """Returns each file's partition as text: its spec, and the non-null field values."""
    names = sorted(name for name in files.schema.names if is_partition_column(name))
    columns = [files.column(name).to_pylist() for name in names]
    return [
        "/".join(f"{name}={value!r}" for name, value in zip(names, values, strict=True) if value is not None)
        for values in zip(*columns, strict=True)
    ]


def without_partition_values(files: pa.Table) -> pa.Table:
    """Returns a scan's files as `scanned_files` builds them."""
    at = files.schema.get_field_index("partition_values")
    return files.set_column(at, files.schema.field(at), _no_values(files.num_rows))


def _no_values(count: int) -> pa.Array:
    return pa.MapArray.from_arrays(
        pa.array(np.zeros(count + 1), pa.int32()), pa.array([], pa.string()), pa.array([], pa.string())
    )


def describe_files(storage: Storage, table: FileSchema, files: Iterable[DataFile]) -> IcebergNewFiles:
    """Reads each file's footer. Files without rows are not added, since no query would need them.

    Partition values come by `partition_key`, in the text form that `engine.iceberg.writing.partition_tuples` describes.
    Raises `ValueError` for values that are invalid for the partition fields.
    """
    written = list(files)
    found = _metrics(storage, table, written)
    filled = [number for number, each in enumerate(found) if each.record_count]
    entries = _entries([written[number] for number in filled], [found[number] for number in filled], table)
    return IcebergNewFiles(
        entries=entries,
        paths=tuple(written[number].path for number in filled),
        empty=tuple(file.path for file, each in zip(written, found, strict=True) if not each.record_count),
    )


def _metrics(storage: Storage, table: FileSchema, files: Sequence[DataFile]) -> list[ParquetMetrics]:
    modes = metrics_modes(table.schema, table.properties, table.sorted_ids)
    leaves: Sequence[Leaf] = ()
    known: Any = None

    def footer_of(file: DataFile) -> Any:
        with storage.open_input(file.path) as source:
            return pq.read_metadata(source)

    found = []
    with ThreadPoolExecutor(_READERS_MAX, "footers") as threads:
        for footer in threads.map(footer_of, files) if len(files) > 1 else map(footer_of, files):
            schema = footer.schema
            if known is None or not schema.equals(known):
                leaves, known = leaves_of(table.schema, footer), schema
            found.append(metrics_of(footer, leaves, modes))
    return found


def _entries(files: Sequence[DataFile], metrics: Sequence[ParquetMetrics], table: FileSchema) -> pa.Table:
    count = len(files)
    columns: dict[str, Any] = {
        "content": pa.repeat(DATA, count),
        "file_path": [f"{table.location}/{file.path}" for file in files],
        "file_format": [PARQUET] * count,
        "record_count": [each.record_count for each in metrics],
        "file_size_in_bytes": [file.size for file in files],
        "sort_order_id": [table.sort_order_id] * count,
        "split_offsets": [each.split_offsets for each in metrics],
        "column_sizes": [encoded_map(each.column_sizes) for each in metrics],
        "value_counts": [encoded_map(each.value_counts) for each in metrics],
        "null_value_counts": [encoded_map(each.null_value_counts) for each in metrics],
        "lower_bounds": [encoded_map(each.lower_bounds) for each in metrics],
        "upper_bounds": [encoded_map(each.upper_bounds) for each in metrics],
    }
    entries = entries_of(columns, count).append_column(SPEC_ID, pa.array([table.spec.spec_id] * count, pa.int32()))
    values = partition_columns([file.partition_values for file in files], table.spec, table.schema)
    for name, column in values.items():
        entries = entries.append_column(name, column)
    return entries


def encoded_map(metric: Mapping[int, int | bytes]) -> bytes | None:
    """Returns a metrics map in the entries' encoding."""
    return encode_map([{"key": key, "value": value} for key, value in metric.items()])


def entries_of(columns: Mapping[str, Any], count: int) -> pa.Table:
    """Returns entries with these columns; the others are null or empty."""
    return pa.table({each.name: _column(columns.get(each.name), each.type, count) for each in ENTRIES})


def _column(values: Any, type_: pa.DataType, count: int) -> pa.Array:
    if values is None:
        return pa.array([[]] * count, type_) if pa.types.is_list(type_) else pa.nulls(count, type_)
    return values.cast(type_) if isinstance(values, pa.Array) else pa.array(values, type_)
