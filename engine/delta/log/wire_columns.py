"""Renames file action columns to their names in the log.

In this product a column is named `base_row_id`; in JSON commits and checkpoints it is `baseRowId`. `log_path`, the
log's text, becomes the action's `path`.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import Any

import pyarrow as pa

from engine.delta.log.file_table import nulls
from engine.delta.spec.actions import camel_case
from engine.types.arrow_types import Array, RecordBatch

# The customary order.
_ORDER = (
    "log_path",
    "partition_values",
    "size",
    "modification_time",
    "deletion_timestamp",
    "data_change",
    "extended_file_metadata",
    "stats",
    "tags",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "clustering_provider",
)


def wire_columns(batch: RecordBatch, without: Container[str] = ()) -> RecordBatch:
    """Returns a file action batch's columns, renamed and in the customary order."""
    present = set(batch.schema.names)
    names = [name for name in _ORDER if name in present and name not in without]
    columns = [_wire_struct(batch.column(name)) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=[wire_name(name) for name in names])


def wire_name(name: str) -> str:
    """Returns the column's name in the log: `path` for `log_path`, otherwise the name in camel case."""
    return "path" if name == "log_path" else camel_case(name)


@lru_cache(maxsize=64)
def wire_type(data_type: Any) -> Any:
    """Returns a column's type after renaming. Only structs contain names."""
    if not pa.types.is_struct(data_type):
        return data_type
    return pa.struct([(camel_case(field.name), field.type) for field in data_type])


def _wire_struct(column: Array) -> Array:
    if not pa.types.is_struct(column.type):
        return column
    if column.null_count == len(column):
        return nulls(wire_type(column.type), len(column))
    names = [camel_case(field.name) for field in column.type]
    return pa.StructArray.from_arrays(column.flatten(), names=names, mask=column.is_null())
