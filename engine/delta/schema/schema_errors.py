"""Conditions of schemas and of changes to them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.column_errors import ColumnChangeRefused
from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class InvalidColumnNames(DeltaError, condition="DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", sqlstate="42K05"):
    columns: str
    template = (
        "The column names {columns} contain characters out of ' ,;{{}}()\\n\\t='. Rename the columns, or set "
        "delta.columnMapping.mode = 'name', which allows any."
    )


@dataclass(eq=False)
class ReservedColumnNames(DeltaError, condition="DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS", sqlstate="42711"):
    columns: str
    template = (
        "A table with a change data feed cannot have the columns {columns}, whose names the feed needs. Rename them, "
        "or set delta.enableChangeDataFeed = 'false'."
    )


@dataclass(eq=False)
class PartitionColumnNotFound(DeltaError, condition="DELTA_PARTITION_COLUMN_NOT_FOUND", sqlstate="42703"):
    column: str
    columns: str
    template = "The partition column {column} is not in the schema; there are {columns}."


@dataclass(eq=False)
class InvalidPartitionColumnType(DeltaError, condition="DELTA_INVALID_PARTITION_COLUMN_TYPE", sqlstate="42996"):
    column: str
    data_type: str
    template = "The column {column} of type {data_type} cannot partition a table. Use a column of a simple type."


@dataclass(eq=False)
class AllColumnsArePartitions(DeltaError, condition="DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", sqlstate="428FT"):
    columns: str
    template = "All columns are partition columns ({columns}); a table needs at least one that is not."


@dataclass(eq=False)
class MaxColumnIdNotSet(DeltaError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET", sqlstate="42703"):
    table: str
    template = "{table} has column mapping, but no delta.columnMapping.maxColumnId: another writer broke the protocol."


@dataclass(eq=False)
class MaxColumnIdTooLow(DeltaError, condition="DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY", sqlstate="42703"):
    table: str
    recorded: int
    highest: int
    template = "delta.columnMapping.maxColumnId of {table} is {recorded}, but a column has the id {highest}."


@dataclass(eq=False)
class MappingInconsistent(DeltaError, condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE", sqlstate="0AKDC"):
    table: str
    detail: str
    template = "The column mapping of {table} would be broken: {detail}."


@dataclass(eq=False)
class MappingModeNotChangeable(DeltaError, condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", sqlstate="0AKDC"):
    current: str
    requested: str
    template = (
        "Column mapping cannot be changed from {current} to {requested} by a property. From none it can be set to "
        "name, and by ALTER TABLE to none again; to have ids, create a new table."
    )


@dataclass(eq=False)
class MappingNeededByNames(
    DeltaError, condition="DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING", sqlstate="42K05"
):
    columns: str
    template = (
        "Column mapping cannot be taken away: without it no name of a column may have one of the characters "
        "' ,;{{}}()\\n\\t='. Rename {columns} first."
    )


@dataclass(eq=False)
class RenameNeedsMapping(DeltaError, condition="DELTA_UNSUPPORTED_RENAME_COLUMN", sqlstate="0AKDC"):
    column: str
    template = (
        "The column {column} cannot be renamed without column mapping. Enable it by ALTER TABLE ... SET TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name'); the table then needs reader version 2 and writer version 5."
    )


@dataclass(eq=False)
class DropNeedsMapping(ColumnChangeRefused, condition="DELTA_UNSUPPORTED_DROP_COLUMN", sqlstate="0AKDC"):
    column: str
    template = (
        "The column {column} cannot be dropped without column mapping. Enable it by ALTER TABLE ... SET TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name'); the table then needs reader version 2 and writer version 5."
    )


@dataclass(eq=False)
class PartitionColumnNotDroppable(DeltaError, condition="DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", sqlstate="0AKDC"):
    column: str
    template = "The partition column {column} cannot be dropped."


@dataclass(eq=False)
class LastColumnNotDroppable(DeltaError, condition="DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA", sqlstate="0AKDC"):
    column: str
    template = "The column {column} cannot be dropped: nothing would be left beside it."


@dataclass(eq=False)
class ConstraintAlreadyExists(DeltaError, condition="DELTA_CONSTRAINT_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    expression: str
    template = "The constraint {name} exists already, as CHECK ({expression}). Drop it first, or take another name."


@dataclass(eq=False)
class ConstraintDoesNotExist(DeltaError, condition="DELTA_CONSTRAINT_DOES_NOT_EXIST", sqlstate="42704"):
    name: str
    template = "The constraint {name} does not exist. DROP CONSTRAINT IF EXISTS ignores that."


@dataclass(eq=False)
class ConstraintsAreNoProperties(DeltaError, condition="DELTA_ADD_CONSTRAINTS", sqlstate="0A000"):
    key: str
    template = "{key} is no property to set. Use ALTER TABLE ... ADD CONSTRAINT ... CHECK (...) or DROP CONSTRAINT."


@dataclass(eq=False)
class ConstraintFeatureInUse(DeltaError, condition="DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE", sqlstate="0AKDE"):
    constraints: str
    template = (
        "The feature checkConstraints cannot be dropped while there are constraints: {constraints}. Drop them first."
    )
