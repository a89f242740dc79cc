"""Conditions of logs that lead elsewhere, or describe what is not read here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class LogPathNotAllowed(DeltaError, condition="LOG_PATH_NOT_ALLOWED", sqlstate="42501"):
    """Raised before anything is opened, and says nothing of what lies there."""

    table: str
    path: str
    """As the log names it, decoded; or the place in the table's folder that is a link."""
    template = (
        "The log of {table} leads to {path!r}, which is not below the table's folder. A relative path must stay below "
        "that folder; an absolute one, and what a symbolic link leads to, must lie below it, the served folder or one "
        "of lake.allowed_roots in the server's configuration. What is written must lie below the table's own folder."
    )


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
