"""Parsed statistics for a version's files, by requested columns, cached with the files.

A file's statistics are one text for all columns, and parsing takes time and memory per column. With many files, only
the columns in the first condition are parsed. A second request for other columns is likely to be followed by more; it
parses all columns, once, so that no text is read a third time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_names, physical_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.delta.snapshot.live_files import LiveFiles, Rows
from engine.types.arrow_types import RecordBatch

# With fewer files, all statistics are parsed immediately: cost-based planning needs most of them.
MANY_FILES = 50_000
_STRUCTS = ("min_values", "max_values", "null_count")


def parsed_stats(
    files: LiveFiles, config: DeltaConfig, rows: Rows | None = None, columns: Collection[str] | None = None
) -> Any:
    """Returns a `pyarrow.Table` with a row for each file, or for each position in `rows` (ascending).

    Its schema is `stats_schema`, or a part that contains all `columns` (top-level physical names; None: all).
    """
    mode = config.column_mapping_mode
    physical = physical_names(config.schema, mode)
    partitions = [physical[name] for name in config.metadata.partition_columns if name in physical]
    whole = stats_schema(physical_schema(config.schema, mode), partitions)
    schema = whole
    if columns is not None and files.num_rows > MANY_FILES:
        schema = _requested_columns(whole, columns, files.derived_schemas(whole))

    def parse(batch: RecordBatch) -> RecordBatch:
        return parse_stats(batch.column("stats"), schema)

    return files.derive(schema, parse) if rows is None else files.derive_some(schema, parse, rows)


def _requested_columns(whole: Any, columns: Collection[str], cached_columns: Iterable[Any]) -> Any:
    """Returns the schema to parse if some files already have parsed statistics with the `cached_columns` schemas."""
    # Cached statistics from before a schema change may have another type for a column.
    known = [each for each in cached_columns if each.equals(_part(whole, _columns(each)))]
    if not known:
        return _part(whole, columns)
    if any(each.equals(whole) for each in known):
        return whole
    wanted = _columns(_part(whole, columns))
    return next((each for each in known if wanted <= _columns(each)), whole)


def _part(schema: Any, columns: Collection[str]) -> Any:
    return pa.schema(
        [
            pa.field(field.name, pa.struct([each for each in field.type if each.name in columns]))
            if field.name in _STRUCTS
            else field
            for field in schema
        ]
    )


def _columns(schema: Any) -> frozenset[str]:
    return frozenset(each.name for name in _STRUCTS for each in schema.field(name).type)
