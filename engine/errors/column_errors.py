"""Conditions of columns in schemas and statements, whatever the table's format."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class ColumnNotFound(DeltaError, condition="DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", sqlstate="42703"):
    column: str
    columns: str
    template = "The column {column} does not exist; there are {columns}."


@dataclass(eq=False)
class DuplicateColumns(DeltaError, condition="DELTA_DUPLICATE_COLUMNS_FOUND", sqlstate="42711"):
    columns: str
    template = "The schema would have several columns of the same name (upper and lower case are one): {columns}."


@dataclass(eq=False)
class ParentNotStruct(DeltaError, condition="DELTA_ADD_COLUMN_PARENT_NOT_STRUCT", sqlstate="42KD3"):
    column: str
    template = "{column} is no struct, so it has no columns."


@dataclass(eq=False)
class NestedVoid(DeltaError, condition="DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", sqlstate="22005"):
    column: str
    template = (
        "The column {column} holds the type void inside of another type, which no file can have. Cast the NULL in it "
        "to the type that is meant."
    )


@dataclass(eq=False)
class VoidColumnAdded(DeltaError, condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", sqlstate="0A000"):
    """`property` is the table property that allows such columns."""

    column: str
    property: str
    template = (
        "The column {column} would get the type VOID, that of NULL, and many engines open no table with such a column. "
        "Cast the NULL to the type that is meant: CAST(NULL AS STRING). The table property '{property}' = 'true' "
        "allows columns of the type VOID."
    )


class ColumnChangeRefused(DeltaError):
    """The root of what a format says of changes of columns that it cannot make."""


@dataclass(eq=False)
class ColumnChangeNotSupported(
    ColumnChangeRefused, condition="DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", sqlstate="0AKDC"
):
    column: str
    old: str
    new: str
    template = (
        "The column {column} cannot be changed from {old} to {new}. A type can be widened where "
        "delta.enableTypeWidening is 'true' and no value is lost; NOT NULL can be dropped, but not be added."
    )


@dataclass(eq=False)
class AddedColumnNotNull(ColumnChangeRefused, condition="DELTA_OPERATION_NOT_ALLOWED_DETAIL", sqlstate="0AKDC"):
    column: str
    template = "The column {column} cannot be added as NOT NULL: the rows that are there have no value for it."
