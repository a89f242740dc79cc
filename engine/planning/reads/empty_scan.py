"""The scan of a table without rows: what expressions are analysed over before the table exists."""

from __future__ import annotations

from engine.sql.query.composed import Names
from engine.tables.scan import NO_FILES, Scan
from engine.types.schema import StructField, StructType


def empty_scan(schema: StructType, location: str) -> Scan:
    """A relation with the columns of a table and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    return Scan(
        relation=Names(schema.names).new("scan"),
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=NO_FILES,
    )
