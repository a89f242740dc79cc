"""Completes missing statistics from Parquet footers, for ANALYZE.

Statistics in the log are unchanged; only missing ones are added. Files from other writers are treated carefully: their
row and null counts are reliable, but their bounds may use another order (unsigned numbers, decimals as bytes, dates in
the Julian calendar), and wrong bounds lose rows. Therefore bounds are only taken from files that Spark 3 or newer wrote
in the current calendar.

Protocol: "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import MalformedLogEntry
from engine.delta.commit.footer_stats import FooterStats
from engine.delta.definition.clustering import measured_columns
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.snapshot.row_files import num_records
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.stats import FileStats, parse_file_stats
from engine.types.schema import ArrayType, MapType, StructType

_THREADS = 8
_FILES_AT_ONCE = 1000


def complete_stats(snapshot: Snapshot, check: Callable[[], None]) -> pa.Table:
    """Returns the live files whose footers have more statistics than the log, completed; in `FILES_SCHEMA`.

    `check` raises if the statement was canceled. Raises `LogPathNotAllowed`, `OSError`, and pyarrow's errors for files
    that are not Parquet.
    """
    snapshot.ensure_files_allowed()
    lacking = _files_without_counts(snapshot)
    reader = FooterStats(snapshot.storage, snapshot.config)
    texts: list[str] = []
    with ThreadPoolExecutor(_THREADS, "footers") as threads:
        for start in range(0, lacking.num_rows, _FILES_AT_ONCE):
            check()
            texts += threads.map(
                lambda file: _complete_stats(reader, file),
                lacking.slice(start, _FILES_AT_ONCE).select(["path", "stats", "deletion_vector"]).to_pylist(),
            )
    new = pa.array(texts, pa.string())
    at = lacking.schema.get_field_index("stats")
    changed = pc.fill_null(pc.not_equal(lacking.column("stats"), new), True)
    return lacking.set_column(at, lacking.schema.field(at), new).filter(changed)


def _files_without_counts(snapshot: Snapshot) -> pa.Table:
    """Returns files without a row count, or without a null count for a column that the footer counts."""
    files = snapshot.files
    lacks = pa.chunked_array(
        [pc.is_null(num_records(batch.column("stats"))) for batch in files.to_batches()], pa.bool_()
    )
    counts = snapshot.stats().column("null_count")
    schema = physical_schema(measured_columns(snapshot.config), snapshot.config.column_mapping_mode)
    for path in _counted_paths(schema):
        lacks = pc.or_(lacks, pc.is_null(pc.struct_field(counts, list(path))))
    return files.filter(lacks)


def _counted_paths(struct: StructType, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for field in struct.fields:
        if isinstance(field.data_type, StructType):
            paths += _counted_paths(field.data_type, (*path, field.name))
        elif not isinstance(field.data_type, ArrayType | MapType):
            paths.append((*path, field.name))
    return paths


def _complete_stats(reader: FooterStats, file: Mapping[str, Any]) -> str:
    found = reader.load_foreign(file["path"])
    try:
        known = parse_file_stats(file["stats"]) if file["stats"] else FileStats()
    except MalformedLogEntry:
        known = FileStats()
    merged = replace(
        known,
        num_records=found.num_records,
        min_values=_merge(known.min_values, found.min_values),
        max_values=_merge(known.max_values, found.max_values),
        null_count=_merge(known.null_count, found.null_count),
    )
    if file["deletion_vector"] is not None and merged != known:
        merged = replace(merged, tight_bounds=False)  # the footer includes deleted rows
    return file["stats"] if merged == known else merged.to_json()


def _merge(known: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(known)
    for name, value in found.items():
        present = merged.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            merged[name] = _merge(present, value)
        # What the log says wins: its writer knew the order of its values.
        elif present is None:
            merged[name] = value
    return merged
