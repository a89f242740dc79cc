"""The statistics of a version's files, parsed for the columns that are asked for, and remembered with the files.

A file's statistics are a text of all columns, and what is parsed of it takes time and memory by the column. So of many
files only the columns that the first condition names are parsed. Who asks for others is likely to go on doing so: then
all are, once, and no text is read a third time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from engine.delta.definition.table_config import TableConfig
from engine.delta.schema.column_mapping import physical_names, physical_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.delta.snapshot.live_files import LiveFiles, Rows
from engine.types.arrow_types import RecordBatch

MANY_FILES = 50_000
"""Of fewer, all statistics are parsed at once: plans by cost ask for most of them."""
_STRUCTS = ("min_values", "max_values", "null_count")


def parsed_stats(
    files: LiveFiles, config: TableConfig, rows: Rows | None = None, columns: Collection[str] | None = None
) -> Any:
    """A `pyarrow.Table` of `stats_schema`, or of a part of it that has all `columns` (physical names of the top level;
    None: all), with a row for each file or for each of `rows` (positions, ascending).
    """
    mode = config.column_mapping_mode
    physical = physical_names(config.schema, mode)
    partitions = [physical[name] for name in config.metadata.partition_columns if name in physical]
    whole = stats_schema(physical_schema(config.schema, mode), partitions)
    schema = whole
    if columns is not None and files.num_rows > MANY_FILES:
        schema = _asked(whole, columns, files.derived_schemas(whole))

    def parse(batch: RecordBatch) -> RecordBatch:
        return parse_stats(batch.column("stats"), schema)

    return files.derive(schema, parse) if rows is None else files.derive_some(schema, parse, rows)


def _asked(whole: Any, columns: Collection[str], remembered: Iterable[Any]) -> Any:
    """The part to parse where some of the files have `remembered` ones."""
    known = [each for each in remembered if each.equals(_part(whole, _columns(each)))]
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
