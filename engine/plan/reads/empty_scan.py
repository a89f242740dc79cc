"""The scan of a table without rows: what expressions are analysed over before the table exists."""

from __future__ import annotations

from engine.delta.log.file_table import FILES_SCHEMA
from engine.plans.reads import Scan
from engine.sql.query.composed import Names
from engine.types.schema import StructField, StructType


def empty_scan(schema: StructType, location: str) -> Scan:
    """A relation with the columns of a table and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    files = FILES_SCHEMA.empty_table().select(["path", "size", "modification_time", "partition_values"])
    return Scan(
        relation=Names(schema.names).new("scan"),
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=files,
    )
