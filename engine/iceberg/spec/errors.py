"""Conditions of Iceberg tables."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.column_errors import ColumnChangeRefused
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
    template = "{operation} the Iceberg table {table} is not supported by this release."


@dataclass(eq=False)
class IcebergSnapshotNotFound(DeltaError, condition="ICEBERG_SNAPSHOT_NOT_FOUND", sqlstate="42K03"):
    table: str
    asked: str
    template = (
        "The Iceberg table {table} has no snapshot {asked}: its metadata does not list it, or no longer. Look at the"
        " metadata table snapshots for those that there are."
    )


@dataclass(eq=False)
class IcebergMetadataTableNotFound(DeltaError, condition="ICEBERG_METADATA_TABLE_NOT_FOUND", sqlstate="42P01"):
    table: str
    name: str
    names: str
    template = "The Iceberg table {table} has no metadata table {name}. There are: {names}."


@dataclass(eq=False)
class IcebergChangesNotTold(DeltaError, condition="ICEBERG_CHANGES_NOT_AVAILABLE", sqlstate="22003"):
    table: str
    reason: str
    template = (
        "The changes of the Iceberg table {table} cannot be told: {reason}. Look at the metadata tables history and"
        " snapshots, and ask for another range."
    )


@dataclass(eq=False)
class IcebergUpdateRefused(DeltaError, condition="ICEBERG_UPDATE_REFUSED", sqlstate="42000"):
    table: str
    detail: str
    template = "The metadata of the Iceberg table {table} cannot be changed so: {detail}."


@dataclass(eq=False)
class IcebergCommitFailed(DeltaError, condition="ICEBERG_COMMIT_FAILED", sqlstate="58030"):
    table: str
    detail: str
    template = "The next metadata of the Iceberg table {table} could not be written, and was not: {detail}."


@dataclass(eq=False)
class IcebergTableIsStatic(DeltaError, condition="ICEBERG_TABLE_READ_ONLY", sqlstate="25006"):
    table: str
    file: str
    template = (
        "The Iceberg table {table} is registered by a metadata file ({file}) that a catalog manages, and is read only"
        " here. Change it through that catalog, or copy it with CREATE TABLE ... USING iceberg AS SELECT."
    )


@dataclass(eq=False)
class IcebergPropertyRefused(DeltaError, condition="ICEBERG_PROPERTY_REFUSED", sqlstate="22023"):
    table: str
    key: str
    reason: str
    template = "The property {key} cannot be set for the Iceberg table {table}: {reason}."


@dataclass(eq=False)
class IcebergDefaultRefused(ColumnChangeRefused, condition="ICEBERG_DEFAULT_REFUSED", sqlstate="42623"):
    column: str
    text: str
    reason: str
    template = (
        "{text} cannot be the default of the column {column}: {reason}. An Iceberg table keeps the value of a default,"
        " so it has to be a literal, with the zone for a TIMESTAMP."
    )


@dataclass(eq=False)
class IcebergColumnInUse(ColumnChangeRefused, condition="ICEBERG_COLUMN_IN_USE", sqlstate="42K09"):
    column: str
    used_by: str
    template = (
        "The column {column} cannot be changed so: {used_by} is made from it. Files that are partitioned by it would"
        " become unreadable for other engines."
    )


@dataclass(eq=False)
class IcebergColumnChangeRefused(ColumnChangeRefused, condition="ICEBERG_COLUMN_CHANGE_REFUSED", sqlstate="0AKDC"):
    column: str
    change: str
    template = (
        "{change} is not possible for the column {column} of an Iceberg table. An INT can become a BIGINT, a FLOAT a"
        " DOUBLE, a DECIMAL one of more digits and the same scale; NOT NULL can be dropped, and not added."
    )


@dataclass(eq=False)
class IcebergChangeNotSupported(DeltaError, condition="ICEBERG_CHANGE_NOT_SUPPORTED", sqlstate="0A000"):
    table: str
    change: str
    template = "The Iceberg table {table} cannot have {change}."


@dataclass(eq=False)
class IcebergPartitioningRefused(DeltaError, condition="ICEBERG_PARTITIONING_REFUSED", sqlstate="42611"):
    table: str
    term: str
    reason: str
    template = "The Iceberg table {table} cannot be partitioned or sorted by {term}: {reason}."


@dataclass(eq=False)
class IcebergRowsNotChangeable(DeltaError, condition="ICEBERG_ROWS_NOT_CHANGEABLE", sqlstate="0A000"):
    table: str
    template = (
        "Rows of the Iceberg table {table} cannot be changed one by one: it has data files that are read in different"
        " ways. Write its files again first: CALL system.rewrite_data_files(table => ...,"
        " options => map('rewrite-all', 'true'))."
    )


@dataclass(eq=False)
class IcebergRefNotWritable(DeltaError, condition="ICEBERG_REFERENCE_NOT_WRITABLE", sqlstate="42809"):
    table: str
    reference: str
    template = "{reference} of the Iceberg table {table} is no branch, so nothing can be written to it."
