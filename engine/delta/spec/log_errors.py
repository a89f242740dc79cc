"""Conditions of logs that lead elsewhere, or describe what is not read here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class UnsupportedFileFormat(DeltaError, condition="UNSUPPORTED_TABLE_FILE_FORMAT", sqlstate="0A000"):
    table: str
    provider: str
    template = (
        "The metadata of {table} says that its files are of the format {provider!r}; only Parquet is read and written. "
        "Copy the table with an engine that reads the format, into one of Parquet."
    )


@dataclass(eq=False)
class NoCommitsFound(DeltaError, condition="DELTA_NO_COMMITS_FOUND", sqlstate="KD006"):
    """What is left of the log are checkpoints: the table can be read, but who changed it and when is not known."""

    table: str
    template = (
        "No commits found in the log of {table}: they have been cleaned up. Its newest version can be read from a "
        "checkpoint; it has a history again after the next change."
    )


@dataclass(eq=False)
class DeltaOnlyOperation(DeltaError, condition="DELTA_TABLE_ONLY_OPERATION", sqlstate="0AKDD"):
    table: str
    operation: str
    template = "{table} is not a Delta table. {operation} is only supported for Delta tables."
