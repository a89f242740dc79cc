"""How many values of columns differ: what ANALYZE counts, in a file of its own beside the log.

    _delta_log/_gateway/column_statistics.json
        {"tableId": …, "columns": {<physical name>: {"type": …, "distinct": …, "rows": …, "version": …}}}

The log has no place for it. A table property would make each ANALYZE fail the writers that run at the same time, and a
domain of metadata would need a table feature that older writers do not know. Other readers ignore folders in the log
that they do not know (Trino keeps the like in one, too), and so does clean-up. The file belongs to no version: what it
says helps to plan, and is scaled or left alone where the table has changed (`engine.pruning.estimates`).

A column that was dropped and made again has another type or, with column mapping, another physical name; else its old
count is used until the next ANALYZE. A file that cannot be read counts nothing. ANALYZE statements of one server take
turns at the file; of two servers that write it at once, the columns of one have no new counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from catalog.conditions import LogPathNotAllowed
from engine.delta.definition.table_config import TableConfig
from engine.delta.schema.column_mapping import physical_names
from engine.delta.spec.paths import LOG_DIR
from engine.pruning.estimates import DistinctCount, DistinctCounts
from engine.storage.storage import Storage
from engine.types.sql_types import ddl_type

_FOLDER = f"{LOG_DIR}/_gateway"
STATISTICS_NAME = f"{_FOLDER}/column_statistics.json"


def read_distinct_counts(storage: Storage, config: TableConfig) -> DistinctCounts:
    """Of the columns that the table has."""
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
    storage: Storage, config: TableConfig, version: int, counted: Mapping[str, DistinctCount]
) -> None:
    """Those of some columns, by logical name, instead of what was known of them.

    Raises `OSError`, and `LogPathNotAllowed` where the log leads elsewhere.
    """
    physical = physical_names(config.schema, config.column_mapping_mode)
    recorded = dict(_read(storage, config))
    for name, count in counted.items():
        field = config.schema.field(name)
        if field is not None:
            kind = {"type": ddl_type(field.data_type), "version": version}
            recorded[physical[name]] = {**kind, "distinct": count.distinct, "rows": count.rows}
    kept = {name: recorded[name] for name in physical.values() if name in recorded}
    storage.write(STATISTICS_NAME, msgspec.json.encode({"tableId": config.metadata.id, "columns": kept}))


def drop_distinct_counts(storage: Storage) -> None:
    """With the folders that `write_distinct_counts` has made, where nothing else is in them."""
    with suppress(OSError):
        storage.delete(STATISTICS_NAME)
        for folder in (_FOLDER, LOG_DIR):
            storage.delete_empty_folder(folder)


def _read(storage: Storage, config: TableConfig) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(storage.read_bytes(STATISTICS_NAME))
    except (OSError, LogPathNotAllowed, msgspec.MsgspecError, RecursionError):
        return {}
    if not isinstance(value, dict) or value.get("tableId") != config.metadata.id:
        return {}
    columns = value.get("columns")
    return columns if isinstance(columns, dict) else {}
