"""Conditions of ALTER TABLE, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class ConstraintDependsOnColumn(SqlError, condition="DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", sqlstate="42K09"):
    column: str
    constraints: str
    template = (
        "The column {column} cannot be changed so: CHECK constraints use it ({constraints}). Drop them first, and add "
        "them again afterwards."
    )


@dataclass(eq=False)
class GeneratedDependsOnColumn(SqlError, condition="DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE", sqlstate="42K09"):
    column: str
    columns: str
    template = "The column {column} cannot be changed so: generated columns are computed from it ({columns})."


@dataclass(eq=False)
class RowsViolateConstraint(SqlError, condition="DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", sqlstate="23512"):
    table: str
    constraint: str
    expression: str
    rows: int = 0
    template = (
        "{rows} rows in {table} violate the new CHECK constraint {constraint} ({expression}). Correct them first; the "
        "table is as it was."
    )


@dataclass(eq=False)
class RowsViolateNotNull(SqlError, condition="DELTA_NEW_NOT_NULL_VIOLATION", sqlstate="23512"):
    table: str
    column: str
    rows: int = 0
    template = (
        "{rows} rows in {table} violate the new NOT NULL constraint on {column}. Give them a value first; the table is "
        "as it was."
    )


NewRuleViolated = RowsViolateConstraint | RowsViolateNotNull


@dataclass(eq=False)
class AddedColumnDefault(
    SqlError, condition="WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED", sqlstate="0AKDC"
):
    column: str
    template = (
        "The column {column} cannot be added with a default, since the rows that are there have none of it. Add it "
        "first, then ALTER COLUMN {column} SET DEFAULT for the rows to come."
    )


@dataclass(eq=False)
class DefaultsNotEnabled(SqlError, condition="WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED", sqlstate="0AKDE"):
    table: str
    column: str
    template = (
        "The column {column} cannot get a default: {table} does not have the table feature allowColumnDefaults. Enable "
        "it by ALTER TABLE {table} SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')."
    )


@dataclass(eq=False)
class NestedDefault(SqlError, condition="UNSUPPORTED_DEFAULT_VALUE.WITHOUT_SUGGESTION", sqlstate="0A000"):
    column: str
    template = "DEFAULT is for the columns of a table only; {column} lies inside of one."


@dataclass(eq=False)
class ReplacedColumnsDiffer(SqlError, condition="DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP", sqlstate="0AKDC"):
    detail: str
    template = (
        "REPLACE COLUMNS cannot do this: {detail} Columns can be added, moved, dropped where the table has column "
        "mapping, and widened where delta.enableTypeWidening is 'true'."
    )


@dataclass(eq=False)
class RenameOfPath(SqlError, condition="DELTA_CANNOT_RENAME_PATH", sqlstate="22KD1"):
    table: str
    template = "{table} is named by its path, which has no name in the catalog to change."


@dataclass(eq=False)
class AddedIdentity(SqlError, condition="DELTA_IDENTITY_COLUMNS_ADD_COLUMN_NOT_SUPPORTED", sqlstate="429BQ"):
    column: str
    template = "The identity column {column} cannot be added: only CREATE TABLE makes identity columns."


@dataclass(eq=False)
class AlteredIdentity(SqlError, condition="DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED", sqlstate="429BQ"):
    column: str
    template = "The identity column {column} cannot get another type or a default."


@dataclass(eq=False)
class ReplacedIdentity(SqlError, condition="DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED", sqlstate="429BQ"):
    columns: str
    template = "REPLACE COLUMNS is not for identity columns ({columns}); change the others by ALTER COLUMN."


@dataclass(eq=False)
class NoIdentityColumn(SqlError, condition="DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN", sqlstate="429BQ"):
    column: str
    template = "The column {column} is no identity column, so it has no high-water mark that SYNC IDENTITY could move."


@dataclass(eq=False)
class LocationOfPath(SqlError, condition="DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER", sqlstate="42613"):
    table: str
    template = "{table} is named by its path, so it has no other location. Use a name of the catalog."


@dataclass(eq=False)
class LocationSchemaDiffers(SqlError, condition="DELTA_SET_LOCATION_SCHEMA_MISMATCH", sqlstate="42KD7"):
    table: str
    current: str
    new: str
    template = (
        "{table} cannot be moved: the table at the new location has other columns. It has {new}, this one {current}."
    )


@dataclass(eq=False)
class HistoryTruncationNotAllowed(
    SqlError, condition="DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED", sqlstate="42000"
):
    feature: str
    template = "The feature {feature} can be dropped without TRUNCATE HISTORY: no older version needs it."


@dataclass(eq=False)
class ProtectionNeedsTruncation(
    SqlError,
    condition="DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION",
    sqlstate="55000",
):
    template = (
        "The feature checkpointProtection keeps older versions readable. It can only be dropped with TRUNCATE HISTORY."
    )
