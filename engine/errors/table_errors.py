"""Conditions of what a table's own metadata says, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from catalog.errors import SqlError


class DeltaError(SqlError):
    """Family of all errors of the log; where a class has the field `table`, that is its location, or its name."""


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Let the errors that are raised inside call the table as the user did, instead of by its location."""
    try:
        yield
    except DeltaError as error:
        if hasattr(error, "table"):
            error.table = table
        raise


@dataclass(eq=False)
class MalformedLogEntry(DeltaError, condition="DELTA_MALFORMED_LOG_ENTRY", sqlstate="XXKDS"):
    """Foreign bytes that are not what the protocol says: JSON, actions, checkpoints, file names inside of them."""

    source: str
    """What was read: a file name, or the kind of value where no file is known."""
    detail: str
    template = "{source} is not readable as a part of a Delta log: {detail}. Restore the file from a backup."


@dataclass(eq=False)
class UnsupportedDataType(DeltaError, condition="DELTA_UNSUPPORTED_DATA_TYPES", sqlstate="0AKDC"):
    data_type: str
    template = "The table's schema has the data type {data_type}, which this release does not support."


@dataclass(eq=False)
class PartitionValueNotCastable(DeltaError, condition="DELTA_FAILED_CAST_PARTITION_VALUE", sqlstate="22018"):
    text: str
    data_type: str
    template = "The partition value {text} is no {data_type}."


@dataclass(eq=False)
class UnknownTableFormat(SqlError, condition="DATA_SOURCE_NOT_SUPPORTED", sqlstate="0A000"):
    format: str
    formats: str
    template = "Tables of the format {format} are not supported. Use USING with one of: {formats}."
