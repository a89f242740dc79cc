"""Distinct value counts from ANALYZE, stored in a separate file in the log's directory.

    _delta_log/_gateway/column_statistics.json
        {"tableId": …, "columns": {<physical name>: {"type": …, "distinct": …, "rows": …, "version": …}}}

The log has no place for these counts. A table property would make each ANALYZE conflict with concurrent writers, and a
metadata domain would need a table feature that older writers lack. Other readers, and log cleanup, ignore unknown
directories in the log (Trino also stores its statistics in one). The file does not belong to a version: its counts help
planning, and are scaled or ignored if the table has changed (`engine.pruning.estimates`).

A column that was dropped and recreated has another type or, with column mapping, another physical name; otherwise its
old count is used until the next ANALYZE. An unreadable file counts as empty. ANALYZE statements on one server take
turns at the file; if two servers write it at the same time, one server's new counts are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from catalog.conditions import LogPathNotAllowed
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_names
from engine.delta.spec.paths import LOG_DIR
from engine.pruning.estimates import DistinctCount, DistinctCounts
from engine.storage.storage import Storage
from engine.types.sql_types import ddl_type

_FOLDER = f"{LOG_DIR}/_gateway"
STATISTICS_NAME = f"{_FOLDER}/column_statistics.json"


def read_distinct_counts(storage: Storage, config: DeltaConfig) -> DistinctCounts:
    """Loads the counts for the columns that the table has."""
    recorded = _read(storage, config)
    counts = {}
    for name, physical in physical_names(config.schema, config.column_mapping_mode).items():
        field = config.schema.field(name)
        found = recorded.get(physical)
        if field is not None and isinstance(found, dict) and found.get("type") == ddl_type(field.data_type):
            distinct, rows = found.get("distinct"), found.get("rows")
            if isinstance(distinct, int) and isinstance(rows, int) and 0 <= distinct <= rows:
                counts[name] = DistinctCount(distinct, rows)
    return DistinctCounts(counts)


def write_distinct_counts(
    storage: Storage, config: DeltaConfig, version: int, counted: Mapping[str, DistinctCount]
) -> None:
    """Replaces the counts for some columns, given by logical name.

    Raises `OSError`, and `LogPathNotAllowed` if the log directory leads outside the table.
    """
    physical = physical_names(config.schema, config.column_mapping_mode)
    recorded = dict(_read(storage, config))
    for name, count in counted.items():
        field = config.schema.field(name)
        if field is not None:
            kind = {"type": ddl_type(field.data_type), "version": version}
            recorded[physical[name]] = {**kind, "distinct": count.distinct, "rows": count.rows}
    remaining = {name: recorded[name] for name in physical.values() if name in recorded}
    storage.write(STATISTICS_NAME, msgspec.json.encode({"tableId": config.metadata.id, "columns": remaining}))


def drop_distinct_counts(storage: Storage) -> None:
    """Deletes the file, and the directories that `write_distinct_counts` made if they are empty."""
    with suppress(OSError):
        storage.delete(STATISTICS_NAME)
        for folder in (_FOLDER, LOG_DIR):
            storage.delete_empty_folder(folder)


def _read(storage: Storage, config: DeltaConfig) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(storage.read_bytes(STATISTICS_NAME))
    except (OSError, LogPathNotAllowed, msgspec.MsgspecError, RecursionError):
        return {}
    # The folder may belong to another table by now.
    if not isinstance(value, dict) or value.get("tableId") != config.metadata.id:
        return {}
    columns = value.get("columns")
    return columns if isinstance(columns, dict) else {}
