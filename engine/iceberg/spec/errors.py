"""Conditions of Iceberg tables."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class MalformedIcebergFile(DeltaError, condition="ICEBERG_METADATA_MALFORMED", sqlstate="XXKDS"):
    """Foreign bytes that are not what the specification says: metadata, manifest lists, manifests, delete files."""

    source: str
    detail: str
    template = (
        "{source} is not readable as a part of an Iceberg table: {detail}. Restore the file from a backup, or roll the"
        " table back to a snapshot without it."
    )


@dataclass(eq=False)
class IcebergFileNotFound(DeltaError, condition="ICEBERG_FILE_NOT_FOUND", sqlstate="42K03"):
    table: str
    path: str
    template = (
        "The metadata of the Iceberg table {table} names {path}, which is not there. If snapshots were expired since,"
        " run the statement again."
    )


@dataclass(eq=False)
class IcebergTableNotFound(DeltaError, condition="ICEBERG_TABLE_NOT_FOUND", sqlstate="42P01"):
    table: str
    template = (
        "There is no Iceberg table at {table}: it has no metadata/version-hint.text and no metadata/*.metadata.json."
    )


@dataclass(eq=False)
class AmbiguousIcebergMetadata(DeltaError, condition="ICEBERG_METADATA_AMBIGUOUS", sqlstate="42704"):
    table: str
    files: str
    template = (
        "{table} has several newest metadata files ({files}), and which of them was committed is known to the catalog"
        " that wrote them. Register the table by the path of its metadata file."
    )


@dataclass(eq=False)
class IcebergFeatureNotSupported(DeltaError, condition="ICEBERG_FEATURE_NOT_SUPPORTED", sqlstate="0A000"):
    table: str
    feature: str
    template = "The Iceberg table {table} has {feature}, which this release does not support."


@dataclass(eq=False)
class IcebergOperationNotSupported(DeltaError, condition="ICEBERG_OPERATION_NOT_SUPPORTED", sqlstate="0A000"):
    table: str
    operation: str
    template = (
        "{operation} the Iceberg table {table} is not supported: Iceberg tables are read only. Copy the rows into a"
        " Delta table with CREATE TABLE ... AS SELECT to change them."
    )


@dataclass(eq=False)
class IcebergSnapshotNotFound(DeltaError, condition="ICEBERG_SNAPSHOT_NOT_FOUND", sqlstate="42K03"):
    table: str
    asked: str
    template = (
        "The Iceberg table {table} has no snapshot {asked}: its metadata does not list it, or no longer. Look at the"
        " metadata table snapshots for those that there are."
    )
