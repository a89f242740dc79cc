"""Converts newly written data files to the actions that add them to the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Self

import pyarrow as pa

from engine.delta.commit.footer_stats import FooterStats
from engine.delta.commit.staged_commit import adds_of
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_name, physical_names
from engine.delta.spec.actions import Add
from engine.delta.spec.stats import FileStats
from engine.storage.paths import encode_path
from engine.storage.storage import Storage
from engine.tables.transaction import DataFile
from engine.types.partition_values import format_partition_value, parse_partition_value
from engine.types.schema import PrimitiveType

MinMaxValues = Mapping[str, tuple[Any, Any]]

_READERS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """The files that a write adds to a table; see `engine.tables.transaction`."""

    adds: tuple[Add, ...]
    num_rows: int
    num_bytes: int
    # Minimum and maximum by measured column (logical name), for columns with values.
    min_max_values: Mapping[str, tuple[Any, Any]]
    # Paths (decoded, relative) of files that were written without rows and are not added.
    empty: tuple[str, ...] = ()

    @property
    def num_files(self) -> int:
        return len(self.adds)

    @property
    def files(self) -> pa.Table:
        """Returns the files in `FILES_SCHEMA`."""
        return pa.Table.from_batches([adds_of(self.adds)])

    def with_others(self, others: Self) -> Self:
        """Combines the files from two writes."""
        return replace(
            self,
            adds=(*self.adds, *others.adds),
            num_rows=self.num_rows + others.num_rows,
            num_bytes=self.num_bytes + others.num_bytes,
            min_max_values=_together(self.min_max_values, others.min_max_values),
            empty=(*self.empty, *others.empty),
        )


def describe_files(
    storage: Storage, config: DeltaConfig, files: Iterable[DataFile], measured: Iterable[str] = ()
) -> NewFiles:
    """Reads each file's footer. Files without rows are not added, since no query would need them.

    `measured` has the integer columns, by logical name, whose minimum and maximum are requested.
    """
    physical = physical_names(config.schema, config.column_mapping_mode)
    columns = {physical[name]: name for name in measured}
    footers = FooterStats(storage, config)
    written = list(files)

    def load(file: DataFile) -> tuple[FileStats, MinMaxValues]:
        return footers.load_with_min_max(file, tuple(columns))

    with ThreadPoolExecutor(_READERS_MAX, "footers") as threads:
        read = list(threads.map(load, written) if len(written) > 1 else map(load, written))  # a thread costs 1 ms
    # A task without rows may still create a file, whose only content is the schema. The
    # schema is in the log, so such a file is not added.
    filled = [(file, stats) for file, (stats, _) in zip(written, read, strict=True) if stats.num_records]
    adds = tuple(
        Add(
            path=encode_path(file.path),
            partition_values=_partition_values(config, file.partition_values),
            size=file.size,
            modification_time=file.modification_time,
            stats=each.to_json(),
        )
        for file, each in filled
    )
    return NewFiles(
        adds=adds,
        empty=tuple(file.path for file, (stats, _) in zip(written, read, strict=True) if not stats.num_records),
        num_rows=sum(each.num_records or 0 for _, each in filled),
        num_bytes=sum(file.size for file, _ in filled),
        min_max_values={
            name: _union(found)
            for column, name in columns.items()
            if (found := [min_max_values[column] for _, min_max_values in read if column in min_max_values])
        },
    )


def _together(one: MinMaxValues, other: MinMaxValues) -> MinMaxValues:
    both = {name: _union([one[name], other[name]]) for name in one.keys() & other}
    return {**one, **other, **both}


def _union(ranges: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _partition_values(config: DeltaConfig, texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Returns values in the protocol's form, for every partition column."""
    values = {}
    for name in config.metadata.partition_columns:
        column = config.schema.field(name)
        assert column is not None, "checked with every schema that is committed"
        physical = physical_name(column, config.column_mapping_mode)
        text = texts[physical]
        # The folder name has the value in the session's format. "Partition Value
        # Serialization" wants one form, for timestamps in UTC, so that all readers compare
        # equal values as equal.
        if column.data_type is not PrimitiveType.STRING:
            text = format_partition_value(parse_partition_value(text, column.data_type, UTC), column.data_type)
        # An empty string means null in `partitionValues`.
        values[physical] = text or None
    return values
