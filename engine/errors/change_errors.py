"""Conditions of statements that change rows: UPDATE and MERGE. The names are those of Delta and Spark."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class ConflictingAssignments(SqlError, condition="DELTA_CONFLICT_SET_COLUMN", sqlstate="42701"):
    columns: str
    template = "There is a conflict from these SET columns: {columns}. Give each column, or field, one value."


@dataclass(eq=False)
class FieldOfNonStruct(SqlError, condition="DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT", sqlstate="0AKDC"):
    column: str
    data_type: str
    template = (
        "Only fields of structs can be set by themselves, but {column} is of type {data_type}. Set the whole column."
    )


@dataclass(eq=False)
class IdentityUpdated(SqlError, condition="DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED", sqlstate="42808"):
    column: str
    template = "UPDATE on the IDENTITY column {column} is not supported: the table gave its rows their values."


@dataclass(eq=False)
class UnsupportedInAssignment(SqlError, condition="UNSUPPORTED_EXPR_FOR_OPERATOR", sqlstate="42K0E"):
    clause: str
    found: str
    template = "The values of {clause} have {found}; they are made of one row at a time, by the columns of that row."


@dataclass(eq=False)
class NonLastMatchedUnconditional(SqlError, condition="DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION", sqlstate="42601"):
    template = "Of several WHEN MATCHED clauses of a MERGE only the last may have no condition."


@dataclass(eq=False)
class NonLastNotMatchedUnconditional(
    SqlError, condition="DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION", sqlstate="42601"
):
    template = "Of several WHEN NOT MATCHED clauses of a MERGE only the last may have no condition."


@dataclass(eq=False)
class NonLastBySourceUnconditional(
    SqlError, condition="DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION", sqlstate="42601"
):
    template = "Of several WHEN NOT MATCHED BY SOURCE clauses of a MERGE only the last may have no condition."


@dataclass(eq=False)
class ColumnNotInSource(SqlError, condition="DELTA_MERGE_UNRESOLVED_EXPRESSION", sqlstate="42601"):
    column: str
    clause: str
    columns: str
    template = (
        "{clause} * needs the column {column}, which the source does not have. It has: {columns}. Name the columns, or "
        "use MERGE WITH SCHEMA EVOLUTION, which leaves out those that the source has not."
    )


@dataclass(eq=False)
class SeveralSourceRows(SqlError, condition="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", sqlstate="21506"):
    table: str
    key: str
    template = (
        "Several rows of the source match one row of {table} and would change it, so it is not said which of them "
        "counts. The row has {key}. Nothing was written. Make the source have one row for each, for example with "
        "row_number(), or narrow the condition."
    )


@dataclass(eq=False)
class ChangedRowsDiffer(SqlError, condition="CHANGED_ROWS_DIFFER", sqlstate="XX000"):
    table: str
    found: int
    written: int
    template = (
        "{found} rows of {table} were found to change, but {written} were written, so nothing was committed. A "
        "condition or a source of the statement gives other values each time it is evaluated."
    )


@dataclass(eq=False)
class CannotModifyAppendOnly(DeltaError, condition="DELTA_CANNOT_MODIFY_APPEND_ONLY", sqlstate="42809"):
    table: str
    template = (
        "{table} is configured to allow appends only. To permit updates and deletes, run ALTER TABLE ... SET "
        "TBLPROPERTIES ('delta.appendOnly' = 'false')."
    )
