"""Arrow batches for Databricks' clients: column types on the wire, and batch bytes.

With each statement a client declares which types it can read as Arrow types (TSparkArrowTypes); other columns are sent
as text, complex ones as JSON. A nested column is sent as an Arrow type if all its parts may be. Instants have the
session's time zone, so that they appear as in a text row. A field's metadata contains the column's SQL type under
:data:`SQL_NAME`, which these clients read for types that are only sent as text, such as variant.

The schema message is sent once, in the result's metadata, and each batch as a message without it, LZ4-compressed (one
frame per message) if the client declares support. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa

from engine.runtime.results import sql_type_of
from engine.runtime.time_zones import find_zone, fixed_offset
from engine.runtime.value_text import to_text
from gateway.results.lz4_frames import lz4_frame

SQL_NAME = b"Spark:DataType:SqlName"
_UTC = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowTypes:
    """The types that a client reads as Arrow types."""

    timestamps: bool = False
    decimals: bool = False
    nested: bool = False
    intervals: bool = False
    nulls: bool = False

    def allow(self, kind: pa.DataType) -> bool:
        """Returns True if values with Arrow type `kind` are sent unchanged."""
        if pa.types.is_nested(kind):
            return self.nested and all(self.allow(kind.field(index).type) for index in range(kind.num_fields))
        if pa.types.is_timestamp(kind):
            return self.timestamps
        if pa.types.is_decimal(kind):
            return self.decimals
        if pa.types.is_duration(kind):
            return self.intervals
        if pa.types.is_null(kind):
            return self.nulls
        return not pa.types.is_time(kind)


def arrow_schema(schema: pa.Schema, types: ArrowTypes, time_zone: str) -> pa.Schema:
    """Returns the schema in which rows with `schema` are sent."""
    zone = arrow_zone(time_zone)
    return pa.schema(
        [
            pa.field(
                field.name,
                _with_zone(field.type, zone) if types.allow(field.type) else pa.string(),
                metadata={SQL_NAME: sql_type_of(field).upper().encode()},
            )
            for field in schema
        ]
    )


def arrow_batches(rows: pa.Table, schema: pa.Schema, time_zone: str) -> Iterator[pa.RecordBatch]:
    """Yields `rows` in `schema`, from :func:`arrow_schema`."""
    for batch in rows.to_batches():
        columns = [
            _convert(column, field, target.type, time_zone)
            for column, field, target in zip(batch.columns, rows.schema, schema, strict=True)
        ]
        yield pa.record_batch(columns, schema=schema)


def batch_message(batch: pa.RecordBatch, *, compressed: bool) -> bytes:
    """Returns a batch's IPC message, without its schema."""
    message = batch.serialize()
    return lz4_frame(message) if compressed else message.to_pybytes()


def schema_message(schema: pa.Schema) -> bytes:
    """Returns the schema as an encapsulated message of Arrow's IPC format."""
    return bytes(schema.serialize().to_pybytes())


def arrow_zone(time_zone: str) -> str:
    """Returns a time zone as Arrow spells it: by its tz database name, or as `+HH:MM`, rounding seconds."""
    offset = fixed_offset(time_zone)
    if offset is None:
        return time_zone if find_zone(time_zone) else _UTC  # known only to Java
    minutes = round(offset / timedelta(minutes=1))
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else _UTC


def _convert(column: pa.Array, field: pa.Field, target: pa.DataType, time_zone: str) -> pa.Array:
    if column.type == target and not pa.types.is_null(target):
        return column
    if pa.types.is_string(target):
        return to_text(column, sql_type_of(field), time_zone)
    return column.cast(target)


def _with_zone(kind: pa.DataType, zone: str) -> pa.DataType:
    """Returns `kind` with `zone` as the time zone for all instants in it."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", zone if kind.tz else None)
    if pa.types.is_list(kind):
        return pa.list_(_zoned_field(kind.value_field, zone))
    if pa.types.is_map(kind):
        return pa.map_(_zoned_field(kind.key_field, zone), _zoned_field(kind.item_field, zone))
    if pa.types.is_struct(kind):
        return pa.struct([_zoned_field(kind.field(index), zone) for index in range(kind.num_fields)])
    return kind


def _zoned_field(field: pa.Field, zone: str) -> pa.Field:
    return field.with_type(_with_zone(field.type, zone))
