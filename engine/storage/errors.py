"""Conditions of files and folders: what may not be opened, cannot be written, or is not what was recorded."""

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
        "The log of {table} names {path!r}, which is not below the table's folder or belongs to another table. Files "
        "that a log or metadata names, after links are resolved, must be located below the table's own folder. "
        "Shallow clones that this server makes are the exception. For clones that another engine made, the operator "
        "can add the folder of the source to lake.trusted_roots."
    )


@dataclass(eq=False)
class LentCredentialsNotInSpark(DeltaError, condition="REST_CREDENTIALS_NOT_IN_SPARK", sqlstate="0A000"):
    """`reason` is a clause."""

    location: str
    reason: str
    template = (
        "The files at {location} are reached with credentials that a REST catalog gives out for one table, and "
        "{reason}: metadata can be read and changed, rows cannot. Have the operator put the connector's jar on Spark's "
        "class path (hadoop-aws for S3, hadoop-azure for ADLS), or set storage.credentials for this location."
    )


@dataclass(eq=False)
class LogFileNotFound(DeltaError, condition="DELTA_LOG_FILE_NOT_FOUND", sqlstate="42K03"):
    """A file that was listed, or that a checkpoint names, has gone."""

    path: str
    template = "The log file {path} does not exist. It may have been cleaned up while it was read; try again."


@dataclass(eq=False)
class DeletionVectorChecksumMismatch(DeltaError, condition="DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH", sqlstate="XXKDS"):
    source: str
    template = "The deletion vector {source} is corrupt: its checksum does not match its bytes."


@dataclass(eq=False)
class DeletionVectorSizeMismatch(DeltaError, condition="DELTA_DELETION_VECTOR_SIZE_MISMATCH", sqlstate="XXKDS"):
    source: str
    expected: int
    actual: int
    template = "The deletion vector {source} is corrupt: {expected} bytes were recorded, {actual} found."


@dataclass(eq=False)
class DeletionVectorCardinalityMismatch(
    DeltaError, condition="DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH", sqlstate="XXKDS"
):
    source: str
    expected: int
    actual: int
    template = "The deletion vector {source} is corrupt: {expected} rows were recorded, {actual} found."


@dataclass(eq=False)
class StorageNotWritable(DeltaError, condition="STORAGE_NOT_WRITABLE", sqlstate="0A000"):
    location: str
    reason: str
    template = (
        "{location} cannot be written: {reason}, so two writers could both commit the same version. Keep the table in "
        "a local folder with hard links, in S3, Google Cloud Storage or Azure."
    )
