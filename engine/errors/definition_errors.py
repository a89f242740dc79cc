"""Conditions of statements that define tables, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class SchemaNotProvided(SqlError, condition="DELTA_SCHEMA_NOT_PROVIDED", sqlstate="42908"):
    table: str
    template = (
        "The table {table} cannot be replaced by one without columns. Put a list of columns or a query (AS SELECT …) "
        "into the statement."
    )


@dataclass(eq=False)
class NoPlaceForTable(SqlError, condition="NO_LOCATION_FOR_TABLE", sqlstate="42000"):
    table: str
    template = (
        "There is no folder for the table {table}: its schema has no location and the server serves no folder. Give "
        "the schema or the table a LOCATION."
    )


@dataclass(eq=False)
class PathAndLocation(SqlError, condition="DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH", sqlstate="0AKDC"):
    path: str
    written: str
    template = "The table is named by its path {path}, but its LOCATION is {written}. Leave LOCATION out."


@dataclass(eq=False)
class TableNotRemovable(SqlError, condition="DROP_TABLE_FILES_NOT_REMOVABLE", sqlstate="58030"):
    table: str
    location: str
    reason: str
    template = (
        "The table {table} was not dropped: its files at {location} cannot be removed ({reason}). Have the operator "
        "check the folder's permissions and how its disk is mounted, and try again."
    )


@dataclass(eq=False)
class SchemaNotRemovable(SqlError, condition="DROP_SCHEMA_FILES_NOT_REMOVABLE", sqlstate="58030"):
    schema: str
    tables: str
    reason: str
    template = (
        "The schema {schema} was not dropped completely: the files of {tables} cannot be removed ({reason}). The "
        "schema and these tables stay; its other tables and views are gone. Have the operator check the folders' "
        "permissions and how their disk is mounted, and drop the schema again."
    )


@dataclass(eq=False)
class DropByPath(SqlError, condition="DROP_TABLE_BY_PATH_NOT_SUPPORTED", sqlstate="0A000"):
    path: str
    hint: str
    template = "DROP TABLE takes the name of a table in the catalog, not the path {path}. {hint}"


@dataclass(eq=False)
class ReplacedTableMissing(SqlError, condition="DELTA_CANNOT_REPLACE_MISSING_TABLE", sqlstate="42P01"):
    table: str
    template = "The table {table} cannot be replaced, since there is none. CREATE OR REPLACE TABLE makes it."


@dataclass(eq=False)
class ReplacedElsewhere(SqlError, condition="DELTA_TABLE_LOCATION_MISMATCH", sqlstate="42613"):
    table: str
    current: str
    written: str
    template = (
        "The table {table} lies at {current}, the statement says {written}. Leave LOCATION out to replace it where it "
        "is, or drop it first."
    )


@dataclass(eq=False)
class LocationNotEmpty(SqlError, condition="DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", sqlstate="42601"):
    table: str
    location: str
    template = "The table {table} cannot be created: its location {location} is not empty. Choose another, or empty it."


@dataclass(eq=False)
class SchemaDiffers(SqlError, condition="DELTA_CREATE_TABLE_SCHEME_MISMATCH", sqlstate="42KD7"):
    location: str
    specified: str
    existing: str
    template = (
        "The columns of the statement are not those of the table at {location}: {specified} is specified, {existing} "
        "is there. Leave the columns out to register the table as it is."
    )


@dataclass(eq=False)
class PartitioningDiffers(SqlError, condition="DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING", sqlstate="42KD7"):
    location: str
    specified: str
    existing: str
    template = "The table at {location} is partitioned by ({existing}), the statement says ({specified})."


@dataclass(eq=False)
class ClusteringDiffers(SqlError, condition="DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING", sqlstate="42KD7"):
    location: str
    specified: str
    existing: str
    template = "The table at {location} is clustered by ({existing}), the statement says ({specified})."


@dataclass(eq=False)
class PropertyDiffers(SqlError, condition="DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY", sqlstate="42KD7"):
    location: str
    keys: str
    template = (
        "The table at {location} has other values for the properties {keys} than the statement. Leave them out, and "
        "change them by ALTER TABLE."
    )


@dataclass(eq=False)
class IdentityTypeNotSupported(SqlError, condition="DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE", sqlstate="428H2"):
    column: str
    data_type: str
    template = "The identity column {column} cannot be of type {data_type}. Make it a BIGINT."


@dataclass(eq=False)
class IdentityStepZero(SqlError, condition="DELTA_IDENTITY_COLUMNS_ILLEGAL_STEP", sqlstate="42611"):
    column: str
    template = "The identity column {column} cannot have INCREMENT BY 0, which would give every row the same value."


@dataclass(eq=False)
class IdentityPartition(SqlError, condition="DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED", sqlstate="42601"):
    column: str
    template = "The identity column {column} cannot partition the table. Partition it by another column."


@dataclass(eq=False)
class IdentityWithExpression(SqlError, condition="DELTA_IDENTITY_COLUMNS_WITH_GENERATED_EXPRESSION", sqlstate="42613"):
    column: str
    template = "The identity column {column} can have neither a generation expression nor a default."


@dataclass(eq=False)
class ColumnsWithQuery(SqlError, condition="_LEGACY_ERROR_TEMP_0035", sqlstate="0A000"):
    """Spark has no other name for it."""

    statement: str
    template = (
        "Operation not allowed: {statement} … AS takes its columns from the query, so it cannot list any. Name and "
        "cast them in the query: SELECT CAST(x AS INT) AS a."
    )


@dataclass(eq=False)
class ClusteredAndPartitioned(DeltaError, condition="DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", sqlstate="42613"):
    template = "A table cannot have both CLUSTER BY and PARTITIONED BY. Leave one of them out."


@dataclass(eq=False)
class LayoutNotSupported(DeltaError, condition="UNSUPPORTED_LAYOUT", sqlstate="0A000"):
    """`what` is a clause, `advice` a sentence."""

    what: str
    advice: str
    template = "{what} is not supported for a table of this format. {advice}"
