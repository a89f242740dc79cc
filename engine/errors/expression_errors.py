"""Conditions of expressions that cannot be what a statement makes of them: a rule, a default, a choice of rows.

The names are those of Delta and Spark.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class GenerationTypeDiffers(SqlError, condition="DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", sqlstate="42K09"):
    column: str
    declared: str
    expression: str
    found: str
    template = (
        "The generated column {column} is declared as {declared}, but its expression ({expression}) gives {found}. "
        "Declare it so, or cast the expression."
    )


@dataclass(eq=False)
class InvalidGenerationReference(SqlError, condition="DELTA_INVALID_GENERATED_COLUMN_REFERENCES", sqlstate="42621"):
    column: str
    reference: str
    template = (
        "The generated column {column} cannot use {reference}: a generation expression may only use columns of the "
        "table that are not generated themselves."
    )


@dataclass(eq=False)
class CheckNotBoolean(SqlError, condition="DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", sqlstate="42621"):
    constraint: str
    expression: str
    found: str
    template = "The CHECK constraint {constraint} ({expression}) must be a boolean, but gives {found}."


@dataclass(eq=False)
class DefaultNotConstant(SqlError, condition="INVALID_DEFAULT_VALUE.NOT_CONSTANT", sqlstate="42623"):
    column: str
    expression: str
    template = "The default ({expression}) of the column {column} cannot use columns of the table."


@dataclass(eq=False)
class InvalidCheckReference(SqlError, condition="DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES", sqlstate="42621"):
    constraint: str
    expression: str
    detail: str
    template = "The CHECK constraint {constraint} ({expression}) uses a column that the table does not have. {detail}"


@dataclass(eq=False)
class AggregateInCheck(SqlError, condition="DELTA_AGGREGATE_IN_CHECK_CONSTRAINT", sqlstate="42621"):
    constraint: str
    found: str
    template = "The CHECK constraint {constraint} has the aggregate {found}; it can only look at one row at a time."


@dataclass(eq=False)
class NonDeterministicCheck(
    SqlError, condition="DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT", sqlstate="42621"
):
    constraint: str
    found: str
    template = "The CHECK constraint {constraint} has {found}, which gives another value each time."


@dataclass(eq=False)
class UnsupportedInCheck(SqlError, condition="DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT", sqlstate="42621"):
    constraint: str
    found: str
    template = "The CHECK constraint {constraint} has {found}. It can only use the columns of its row, and constants."


@dataclass(eq=False)
class AggregateInGeneration(SqlError, condition="DELTA_AGGREGATE_IN_GENERATED_COLUMN", sqlstate="42621"):
    column: str
    found: str
    template = "The generated column {column} has the aggregate {found}; it can only look at one row at a time."


@dataclass(eq=False)
class NonDeterministicGeneration(
    SqlError, condition="DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN", sqlstate="42621"
):
    column: str
    found: str
    template = "The generated column {column} has {found}, which gives another value each time. Make it a DEFAULT."


@dataclass(eq=False)
class UnsupportedInGeneration(SqlError, condition="DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN", sqlstate="42621"):
    column: str
    found: str
    template = (
        "The generated column {column} has {found}. It can only use other columns of its row, and constants: "
        "computed again at any time, it must have the same value."
    )


@dataclass(eq=False)
class DefaultMistyped(SqlError, condition="INVALID_DEFAULT_VALUE.DATA_TYPE", sqlstate="42623"):
    column: str
    expression: str
    declared: str
    detail: str
    template = "The default ({expression}) of the column {column} is no value of its type {declared}. {detail}"


@dataclass(eq=False)
class DefaultNotDeterministic(SqlError, condition="INVALID_DEFAULT_VALUE.NON_DETERMINISTIC", sqlstate="42623"):
    column: str
    found: str
    template = "The default of the column {column} has {found}, which gives another value each time."


@dataclass(eq=False)
class DefaultWithSubquery(SqlError, condition="INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION", sqlstate="42623"):
    column: str
    kind: str = "column"
    template = "The default of the {kind} {column} cannot have a subquery. Write a constant."


@dataclass(eq=False)
class ConditionNotBoolean(SqlError, condition="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", sqlstate="42K09"):
    clause: str
    expression: str
    found: str
    template = "The condition of {clause} ({expression}) must be a boolean, but gives {found}."


@dataclass(eq=False)
class NonDeterministicCondition(SqlError, condition="DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED", sqlstate="0AKDC"):
    clause: str
    found: str
    template = (
        "The condition of {clause} has {found}, which gives another value each time, so that it is not said which rows "
        "go. Compute it in a statement before, and write the value."
    )


@dataclass(eq=False)
class AggregateOfRow(SqlError, condition="DELTA_AGGREGATION_NOT_SUPPORTED", sqlstate="42903"):
    """`place` is the part of the statement, as a sentence begins with it."""

    place: str
    found: str
    template = "{place} has the aggregate {found}; it is evaluated for one row at a time. Use it in a subquery."


@dataclass(eq=False)
class UnsupportedInCondition(SqlError, condition="INVALID_WHERE_CONDITION", sqlstate="42903"):
    clause: str
    found: str
    template = "The condition of {clause} has {found}; it decides for one row at a time, by the columns of that row."


@dataclass(eq=False)
class SubqueryInCondition(SqlError, condition="DELTA_UNSUPPORTED_SUBQUERY", sqlstate="0AKDC"):
    clause: str
    expression: str
    template = (
        "The condition of {clause} ({expression}) cannot have a subquery. Ask it first, and use the value; rows can be "
        "replaced by a query that has what the condition reads: INSERT … REPLACE USING, or REPLACE ON."
    )


@dataclass(eq=False)
class MetadataInExpression(SqlError, condition="UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", sqlstate="42703"):
    what: str
    template = "{what} cannot use _metadata: it is not of the rows but of the files that they are in now."


@dataclass(eq=False)
class AmbiguousInCondition(
    SqlError, condition="DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION", sqlstate="42702"
):
    columns: str
    template = (
        "The condition of REPLACE ON has {columns}, which both the table and the query have. Give both a name, and "
        "write it in front: INSERT INTO t AS t REPLACE ON t.x = s.x (SELECT …) AS s."
    )


@dataclass(eq=False)
class UnresolvedInCondition(
    SqlError, condition="DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION", sqlstate="42703"
):
    columns: str
    template = (
        "The condition of REPLACE ON has {columns}, which neither the table nor the query has. The query's columns are "
        "those of its result, with the alias that follows it: REPLACE ON t.x = s.x (SELECT …) AS s."
    )


@dataclass(eq=False)
class AliasWithReplaceWhere(SqlError, condition="INSERT_REPLACE_WHERE_TABLE_ALIAS_NOT_ALLOWED", sqlstate="42000"):
    alias: str
    template = (
        "REPLACE WHERE looks at the rows of the table alone, so the table has no other name ({alias}) in it. Leave it "
        "out, or use REPLACE ON."
    )


@dataclass(eq=False)
class ColumnsWithReplaceOn(SqlError, condition="INSERT_REPLACE_ON_COLUMN_LIST_NOT_ALLOWED", sqlstate="42000"):
    template = "REPLACE ON takes no list of columns. Leave it out, or write BY NAME and name the query's columns."


@dataclass(eq=False)
class ConstraintHoldsType(SqlError, condition="DELTA_CONSTRAINT_DATA_TYPE_MISMATCH", sqlstate="42K09"):
    column: str
    becomes: str
    constraints: str
    template = (
        "The column {column} cannot become {becomes} with this INSERT: CHECK constraints use it ({constraints}). Cast "
        "the query's column to the type of the table's, or drop the constraints first."
    )


@dataclass(eq=False)
class GeneratedHoldsType(SqlError, condition="DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH", sqlstate="42K09"):
    column: str
    becomes: str
    columns: str
    template = (
        "The column {column} cannot become {becomes} with this INSERT: generated columns are computed from it "
        "({columns}). Cast the query's column to the type of the table's."
    )
