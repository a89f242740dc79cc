"""Reads a directory's Parquet footers once: their merged schema, and the files as adds for a table.

Selecting the columns with statistics requires the schema. The first file's schema usually is the final one, so
statistics are taken under it while the footers are read, and footers are read again only if the final schema differs.
Only a batch row per file is kept, so a directory with 100,000 files needs as much memory as its commit.

Protocol: "Per-file Statistics", "Add File and Remove File".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.conditions import FooterNotReadable
from engine.delta.commit.footer_stats import FooterStats
from engine.delta.conversion.folder_files import folder_values
from engine.delta.conversion.parquet_types import merged_schema, schema_of_footer
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.file_table import FILES_SCHEMA, make_batch, map_array
from engine.delta.schema.column_mapping import physical_name
from engine.delta.spec.stats import FileStats
from engine.storage.paths import encode_path
from engine.storage.storage import Storage
from engine.tables.source_files import FolderFile
from engine.types.arrow_types import RecordBatch
from engine.types.schema import StructField, StructType

T = TypeVar("T")
READERS_MAX = 16
_BATCH_FILES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The conversion of a directory to a table: `define` returns the configuration for a table with these columns.

    `partition_columns` come from directory names; `zone` applies to timestamps in them. Without `has_bounds`,
    statistics contain row counts only.
    """

    define: Callable[[StructType], DeltaConfig]
    partition_columns: Sequence[StructField]
    zone: tzinfo
    has_bounds: bool = True

    def schema(self, columns: StructType) -> StructType:
        """Returns the table's schema: file columns that also occur as partition columns take those types and values."""
        partitions = {column.name.casefold(): column for column in self.partition_columns}
        # As in Spark, a column in both the files and the folder names has the folder's
        # value.
        stored = [partitions.pop(column.name.casefold(), column) for column in columns.fields]
        return StructType((*stored, *partitions.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedFiles:
    """`schema` is the table's schema, `batches` its files as `FILES_SCHEMA` rows."""

    schema: StructType
    batches: tuple[RecordBatch, ...]
    num_files: int
    num_bytes: int


@dataclass(slots=True)
class _Reading:
    """The state while reading footers."""

    layout: Layout
    storage: Storage
    columns: StructType | None = None
    first: StructType | None = None
    stats: FooterStats | None = None
    batches: list[RecordBatch] = field(default_factory=list)
    num_files: int = 0
    num_bytes: int = 0

    def begin(self, file: FolderFile) -> None:
        """Starts to take statistics under this file's schema."""
        self.first = self.columns = schema_of_footer(read_footer(self.storage, file.path), file.path)
        self.stats = self.stats_under(self.first)

    def stats_under(self, columns: StructType) -> FooterStats:
        return FooterStats(self.storage, self.layout.define(self.layout.schema(columns)))


def convert_files(
    storage: Storage, files: Iterable[FolderFile], layout: Layout, ensure_live: Callable[[], None]
) -> ConvertedFiles | None:
    """Returns the files as a table's files, or None if there are none. Raises the errors of this package's modules."""
    reading = _Reading(layout=layout, storage=storage)
    for some in _batches(files, _BATCH_FILES):
        ensure_live()
        if reading.stats is None:
            reading.begin(some[0])
        _read(reading, some, ensure_live)
    if reading.columns is None:
        return None
    # Which columns have statistics depends on their positions in the final schema (the
    # first 32).
    if reading.columns != reading.first and layout.has_bounds:
        stats = reading.stats_under(reading.columns)
        reading.batches = [_with_statistics(batch, storage, stats, ensure_live) for batch in reading.batches]
    return ConvertedFiles(
        schema=layout.schema(reading.columns),
        batches=tuple(reading.batches),
        num_files=reading.num_files,
        num_bytes=reading.num_bytes,
    )


def read_footer(storage: Storage, path: str) -> Any:
    """Returns a Parquet file's metadata. Raises `FooterNotReadable`."""
    return read_sized_footer(storage, path)[0]


def read_sized_footer(storage: Storage, path: str) -> tuple[Any, int]:
    """Returns a Parquet file's metadata and its size in bytes. Raises `FooterNotReadable`."""
    try:
        with storage.open_input(path) as source:
            return pq.read_metadata(source), source.seek(0, os.SEEK_END)
    except (pa.ArrowException, OSError) as error:
        raise FooterNotReadable(path, " ".join(str(error).split())) from error


def _read(reading: _Reading, files: Sequence[FolderFile], ensure_live: Callable[[], None]) -> None:
    layout, stats = reading.layout, reading.stats
    assert stats is not None, "the first file was read"
    names = _physical_names(layout, reading.columns or StructType(()))

    def read(file: FolderFile) -> tuple[StructType, str, dict[str, str | None]]:
        ensure_live()
        footer = read_footer(reading.storage, file.path)
        values = folder_values(file.path, layout.partition_columns, layout.zone)
        return (
            schema_of_footer(footer, file.path),
            _stats_text(footer, stats, has_bounds=layout.has_bounds),
            {names[name]: value for name, value in values.items()},
        )

    found = _in_threads(read, files)
    for file, (schema, _, _) in zip(files, found, strict=True):
        assert reading.columns is not None
        reading.columns = merged_schema(reading.columns, schema, file.path)
        reading.num_bytes += file.size
    reading.num_files += len(files)
    columns = {
        "log_path": pa.array([encode_path(file.path) for file in files], pa.string()),
        "size": pa.array([file.size for file in files], pa.int64()),
        "modification_time": pa.array([file.modification_time for file in files], pa.int64()),
        "partition_values": map_array([values for _, _, values in found]),
        "stats": pa.array([text for _, text, _ in found], pa.string()),
    }
    reading.batches.append(make_batch(FILES_SCHEMA, columns, len(files)))


def _physical_names(layout: Layout, columns: StructType) -> dict[str, str]:
    """Maps partition columns to physical names."""
    config = layout.define(layout.schema(columns))
    fields = ((column.name, config.schema.field(column.name)) for column in layout.partition_columns)
    return {name: physical_name(item, config.column_mapping_mode) if item else name for name, item in fields}


def _with_statistics(
    batch: RecordBatch, storage: Storage, stats: FooterStats, ensure_live: Callable[[], None]
) -> RecordBatch:
    """Returns the files with statistics under another schema."""

    def read(path: str) -> str:
        ensure_live()
        return _stats_text(read_footer(storage, path), stats, has_bounds=True)

    texts = pa.array(_in_threads(read, batch.column("path").to_pylist()), pa.string())
    at = batch.schema.get_field_index("stats")
    return batch.set_column(at, batch.schema.field(at), texts)


def _stats_text(footer: Any, stats: FooterStats, *, has_bounds: bool) -> str:
    found = stats.of_footer(footer) if has_bounds else FileStats(num_records=footer.num_rows)
    return found.to_json()


def _in_threads(read: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
    with ThreadPoolExecutor(READERS_MAX, "footers") as threads:
        return list(threads.map(read, items))


def _batches(items: Iterable[FolderFile], count: int) -> Iterator[list[FolderFile]]:
    waiting = iter(items)
    while some := list(islice(waiting, count)):
        yield some
