"""The Parquet files below a directory, and partition values from directory names.

Files and directories whose names begin with an underscore or a dot are ignored, as in Spark, except directories for a
partition column whose own name begins with an underscore (`_day=1`). Symbolic links are skipped, because their targets
belong to somebody else. Partition directories are above all others, in column order; their values are percent-encoded
as in Hive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from urllib.parse import unquote

from catalog.conditions import (
    FolderValueNotCastable,
    PartitionCountDiffers,
    PartitionNameDiffers,
    PartitionValueNotCastable,
    TableInside,
)
from engine.delta.spec.paths import LOG_DIR
from engine.storage.storage import Storage
from engine.tables.source_files import FolderFile
from engine.types.partition_values import HIVE_NULL, format_partition_value, parse_partition_value
from engine.types.schema import StructField, format_data_type


def find_files(storage: Storage, ensure_live: Callable[[], None]) -> Iterator[FolderFile]:
    """Yields all data files below the root of `storage`, directory by directory. Raises `TableInside`."""
    waiting = [""]
    while waiting:
        ensure_live()
        folder = waiting.pop()
        listing = storage.list_folder(folder.rstrip("/"))
        # The inner table's files would be in two tables, and its removed files would be
        # rows here.
        if folder and any(status.name == LOG_DIR for status in listing.folders):
            raise TableInside(storage.root, folder)
        for file in sorted(listing.files, key=lambda status: status.name):
            if not file.name.startswith(("_", ".")):
                yield FolderFile(path=folder + file.name, size=file.size, modification_time=file.modified_ms)
        for inner in sorted((status.name for status in listing.folders), reverse=True):
            if not inner.startswith(".") and (not inner.startswith("_") or "=" in inner):
                waiting.append(f"{folder}{inner}/")


def folder_values(path: str, columns: Sequence[StructField], zone: tzinfo) -> dict[str, str | None]:
    """Returns the partition values for the file at `path` as stored in the log, by the names in `columns`.

    `zone` applies to timestamps without one. Raises `PartitionCountDiffers`, `PartitionNameDiffers`,
    `FolderValueNotCastable`.
    """
    found = [(name, value) for name, equals, value in (part.partition("=") for part in path.split("/")[:-1]) if equals]
    if len(found) != len(columns):
        raise PartitionCountDiffers(
            path, _join_names(column.name for column in columns), _join_names(name for name, _ in found)
        )
    values = {}
    for column, (name, text) in zip(columns, found, strict=True):
        if unquote(name).casefold() != column.name.casefold():
            raise PartitionNameDiffers(path, column.name, unquote(name))
        values[column.name] = _value(path, column, None if text == HIVE_NULL else unquote(text), zone)
    return values


def _value(path: str, column: StructField, text: str | None, zone: tzinfo) -> str | None:
    try:
        value = parse_partition_value(text, column.data_type, zone)
        return format_partition_value(value, column.data_type)
    except PartitionValueNotCastable as error:
        data_type = str(format_data_type(column.data_type))
        raise FolderValueNotCastable(path, column.name, str(text), data_type) from error


def _join_names(names: Iterator[str]) -> str:
    return ", ".join(names)
