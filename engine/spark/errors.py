"""Conditions of execution: what the guard refuses, and a Spark that is not there."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class JavaNotFound(SqlError, condition="JAVA_NOT_FOUND", sqlstate="58000"):
    """`reason` is what was found instead."""

    reason: str
    template = (
        "Spark needs Java 17 or newer: {reason}. Install one (on Debian: apt-get install openjdk-17-jre-headless) "
        "or point JAVA_HOME at it."
    )


@dataclass(eq=False)
class SparkSettingFixed(SqlError, condition="CANNOT_MODIFY_CONFIG.GATEWAY", sqlstate="46110"):
    """`value` is the one that it keeps."""

    key: str
    value: str
    template = "The Spark setting {key} cannot be configured: the gateway needs it to be '{value}'. Remove it."


@dataclass(eq=False)
class SparkUnavailable(SqlError, condition="SPARK_UNAVAILABLE", sqlstate="08S01"):
    """It does not come up, at the start of the server or again."""

    reason: str
    template = "Spark does not start ({reason}). The server's log has the details."


CONTEXT_STOPPED = "its context stopped"


@dataclass(eq=False)
class SparkRestarting(SqlError, condition="SPARK_RESTARTING", sqlstate="57P03"):
    """Of a statement that ran when Spark was lost, and of one for which Spark did not come back in time."""

    reason: str
    template = (
        "Spark is being restarted ({reason}), so the statement could not be run to its end. The session stays as it "
        "is; run the statement again in a few seconds."
    )


@dataclass(eq=False)
class RelationNotBound(SqlError, condition="UNSUPPORTED_RELATION", sqlstate="0A000"):
    """A relation that the statement did not bind would be read."""

    relation: str
    template = (
        "{relation} cannot be read: only tables of the catalog, and Delta tables named as delta.`path`, may be queried."
    )


@dataclass(eq=False)
class DataFileNotFound(SqlError, condition="FAILED_READ_FILE.FILE_NOT_EXIST", sqlstate="KD001"):
    """Spark's own words for it advise on a cache that the gateway has not."""

    path: str
    template = (
        "The data file {path} does not exist, though the table's log names it. Where a VACUUM took it while the "
        "statement ran, run the statement again; where it was a file of versions whose changes are asked for, ask for "
        "later ones; where it was deleted by hand, restore it or the table."
    )


@dataclass(eq=False)
class DataFileNotReadable(SqlError, condition="FAILED_READ_FILE.NO_HINT", sqlstate="KD001"):
    path: str
    reason: str
    template = "The data file {path} cannot be read: {reason}. Restore it, or the table to a version without it."


@dataclass(eq=False)
class DataFileWithoutFieldIds(SqlError, condition="FAILED_READ_FILE.NO_FIELD_IDS", sqlstate="KD001"):
    path: str
    template = (
        "The data file {path} has no field ids, which say what its columns are: the table maps columns by id. It was "
        "not written for this table; restore the table to a version without it, or write the file's rows again."
    )


@dataclass(eq=False)
class ColumnNotRead(SqlError, condition="FAILED_READ_FILE.UNSUPPORTED_COLUMN", sqlstate="0A000"):
    """`part` is what of the column is not read of files of their format, which other columns are."""

    table: str
    part: str
    template = (
        "The table {table} has {part}, which this release does not read. Leave the column out of the query, or write "
        "the table's rows again with what wrote them, in Parquet."
    )


@dataclass(eq=False)
class RowsNotTracked(SqlError, condition="FIELD_NOT_FOUND", sqlstate="42704"):
    """A field of `_metadata` that only tables with row tracking have."""

    field: str
    template = (
        "The column _metadata has no field {field} here, because the table does not track its rows. Rows have ids in "
        "tables that were created with TBLPROPERTIES ('delta.enableRowTracking' = 'true')."
    )


@dataclass(eq=False)
class OutOfMemory(SqlError, condition="OUT_OF_MEMORY", sqlstate="53200"):
    template = (
        "The statement needs more memory than the server has, for itself or beside the others that run. Ask for "
        "smaller values or fewer of them at once, or raise spark.driver_memory in the server's configuration."
    )


@dataclass(eq=False)
class ParameterNotBound(SqlError, condition="UNBOUND_SQL_PARAMETER", sqlstate="42P02"):
    template = "The statement has a parameter marker for which no value was given. Give one, or write a literal."


@dataclass(eq=False)
class ResultTypeNotSupported(SqlError, condition="UNSUPPORTED_DATATYPE", sqlstate="0A000"):
    data_type: str
    template = "A result cannot have a column of type {data_type}. Cast it to another one."


@dataclass(eq=False)
class ResultRowsDiffer(SqlError, condition="RESULT_ROWS_DIFFER", sqlstate="XX000"):
    """A defect of the server, which must not pass for a result."""

    read: int
    made: int
    template = (
        "The query made {made} rows, and {read} came out of its result: what was fetched is not the result. Run the "
        "query again, and report this with the server's log."
    )


@dataclass(eq=False)
class FunctionNotAvailable(SqlError, condition="UNRESOLVED_ROUTINE", sqlstate="42883"):
    function: str
    template = "The {function} does not exist or may not be used here. SHOW FUNCTIONS lists those that may."


@dataclass(eq=False)
class PlanRefused(SqlError, condition="UNSUPPORTED_PLAN", sqlstate="0A000"):
    """Spark parsed the text to something that is not on the list of what a query may hold."""

    part: str
    template = "The statement is not a plain query: {part} is not supported by this gateway. Nothing was run."


@dataclass(eq=False)
class ViewChanged(SqlError, condition="INCOMPATIBLE_VIEW_SCHEMA_CHANGE", sqlstate="51024"):
    column: str
    template = "A table or view that the view reads has changed: it has no column {column} any more. Replace the view."


@dataclass(eq=False)
class ScanLimitExceeded(SqlError, condition="SCAN_LIMIT_EXCEEDED", sqlstate="54000"):
    size: int
    limit: int
    template = (
        "The statement would read {size} bytes of data files or more; the limit is {limit}. Read less by conditions on "
        "partition columns or clustered columns, or ask the administrator to raise statements.scan_bytes_max."
    )


@dataclass(eq=False)
class ValueTooLarge(SqlError, condition="VALUE_TOO_LARGE", sqlstate="54000"):
    function: str
    template = (
        "{function} would make a single value of more than 256 MiB. Make a smaller one; to make many rows, read "
        "range(…)."
    )


@dataclass(eq=False)
class StatisticsExceeded(SqlError, condition="STATISTICS_EXCEEDED", sqlstate="XX001"):
    """A sum that was tried in longs does not fit, when rows that the client has could not be taken back."""

    template = (
        "A sum is larger than the statistics in the log of a table let expect, and other rows of the result had "
        "already been sent. Ask for the sum in a statement without them (without the other parts of a UNION ALL), or "
        "rewrite the table's files with OPTIMIZE or a REPLACE, which gives them true statistics."
    )
