"""Conditions of the engine that belong to no single room.

Rooms declare their own beside their code (`engine/delta/spec/errors.py`, `engine/sql/dialect/errors.py`); all derive
from :class:`catalog.errors.SqlError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from catalog.errors import SqlError

TEXT_LENGTH_MAX = 4 * 1024 * 1024
"""Characters of a statement."""
_NAMED_MAX = 20


@dataclass(eq=False)
class StatementEnded(SqlError):
    """What ended a statement from outside, and what it had committed by then: it is more than one commit."""

    committed: str = field(default="", kw_only=True)

    def after(self, versions: Mapping[str, int]) -> Self:
        """With the newest version that the statement made of each table."""
        if not versions:
            return self
        shown = [f"{table} (version {version})" for table, version in versions.items()]
        more = f" and {len(shown) - _NAMED_MAX} more" if len(shown) > _NAMED_MAX else ""
        committed = f" These commits were made before, and stay: {', '.join(shown[:_NAMED_MAX])}{more}."
        return replace(self, committed=committed)


@dataclass(eq=False)
class StatementCancelled(StatementEnded, condition="OPERATION_CANCELED", sqlstate="HY008"):
    template = "The statement was cancelled.{committed}"


@dataclass(eq=False)
class StatementTimedOut(StatementEnded, condition="STATEMENT_TIMEOUT", sqlstate="57014"):
    timeout_s: float
    template = (
        "The statement ran longer than its limit of {timeout_s:g} s and was ended. Raise the limit or narrow it."
        "{committed}"
    )


@dataclass(eq=False)
class StatementTooLong(SqlError, condition="STATEMENT_TOO_LONG", sqlstate="54001"):
    length: int
    length_max: int
    template = (
        "The statement has {length} characters; the limit is {length_max}. Load data from a table or files instead of "
        "writing it into the statement."
    )


@dataclass(eq=False)
class ResultTooLarge(SqlError, condition="RESULT_TOO_LARGE", sqlstate="54000"):
    bytes_max: int
    template = (
        "The result is larger than the limit of {bytes_max} bytes. Aggregate it, add a LIMIT, or raise "
        "results.bytes_max in the server's configuration."
    )


@dataclass(eq=False)
class SparkFailure(SqlError, condition="SPARK_ERROR", sqlstate="XX000"):
    """An error that Spark raised, under Spark's own condition and SQLSTATE."""

    spark_condition: str | None
    spark_sqlstate: str | None
    text: str
    template = "{text}"

    def __post_init__(self) -> None:
        if self.spark_condition:
            self.condition = self.spark_condition
        if self.spark_sqlstate:
            self.sqlstate = self.spark_sqlstate


@dataclass(eq=False)
class DuplicateKey(SqlError, condition="DUPLICATE_KEY", sqlstate="23505"):
    clause: str
    key: str
    template = "{clause} has {key} twice."


@dataclass(eq=False)
class StatementNotSupported(SqlError, condition="UNSUPPORTED_FEATURE.STATEMENT", sqlstate="0A000"):
    what: str
    template = "{what} is not supported by this release of the gateway."


@dataclass(eq=False)
class InsertsStopped(SqlError, condition="MULTI_INSERT_STOPPED", sqlstate="25000"):
    done: str
    table: str
    reason: str
    template = (
        "The INSERT into {table} failed, and those after it did not run; {done} has its new rows already. Run again "
        "only what is left. Reason: {reason}"
    )


@dataclass(eq=False)
class NotPartitioned(SqlError, condition="DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE", sqlstate="42809"):
    table: str
    template = "The table {table} has no partition columns, so SHOW PARTITIONS has nothing to list."


@dataclass(eq=False)
class InvalidTimeTravelTimestamp(SqlError, condition="DELTA_TIMESTAMP_INVALID", sqlstate="42816"):
    expression: str
    template = "The provided timestamp ({expression}) cannot be converted to a valid timestamp."


@dataclass(eq=False)
class NullChangeBound(SqlError, condition="DELTA_CDC_READ_NULL_RANGE_BOUNDARY", sqlstate="22004"):
    expression: str
    template = "The changes of a table start or end at {expression}, which is NULL. Give a version or a time."


@dataclass(eq=False)
class ChangeBoundType(SqlError, condition="DELTA_UNSUPPORTED_EXPRESSION", sqlstate="0A000"):
    expression: str
    data_type: str
    template = (
        "The changes of a table cannot start or end at {expression}, a {data_type}. Give a version as a whole number, "
        "or a time as a timestamp or a string."
    )


@dataclass(eq=False)
class RecursiveView(SqlError, condition="RECURSIVE_VIEW", sqlstate="42K0H"):
    view: str
    path: str
    template = "The view {view} reads itself: {path}. Change one of these views so that the circle is broken."


@dataclass(eq=False)
class PermanentViewExpected(SqlError, condition="EXPECT_PERMANENT_VIEW_NOT_TEMP", sqlstate="42809"):
    view: str
    template = "{view} is a temporary view, of which ALTER VIEW changes the name and the query alone. Create it again."


@dataclass(eq=False)
class UnsetUnknownProperties(SqlError, condition="UNSET_NONEXISTENT_PROPERTIES", sqlstate="42K0J"):
    view: str
    keys: str
    template = "The view {view} does not have the properties {keys}. Use UNSET TBLPROPERTIES IF EXISTS."


@dataclass(eq=False)
class ViewTooDeep(SqlError, condition="VIEW_EXCEED_MAX_NESTED_DEPTH", sqlstate="54K00"):
    view: str
    depth_max: int
    template = "The view {view} is nested more than {depth_max} views deep. Build it on fewer."


@dataclass(eq=False)
class TimeTravelOnView(SqlError, condition="UNSUPPORTED_FEATURE.TIME_TRAVEL", sqlstate="0A000"):
    view: str
    template = "Time travel on the view {view} is not supported: a view has no versions. Use it on the view's tables."


@dataclass(eq=False)
class ViewNotAQuery(SqlError, condition="INVALID_VIEW_TEXT", sqlstate="XX001"):
    view: str
    template = "The record of the view {view} in the catalog holds no query. Replace the view."


@dataclass(eq=False)
class TemporaryReference(SqlError, condition="INVALID_TEMP_OBJ_REFERENCE", sqlstate="42K0F"):
    view: str
    temporary: str
    kind: str = "view"
    template = "{view} is persistent and cannot refer to the temporary {kind} {temporary}, which only its session has."


@dataclass(eq=False)
class ViewColumnCount(SqlError, condition="CREATE_VIEW_COLUMN_ARITY_MISMATCH", sqlstate="21S01"):
    view: str
    named: int
    found: int
    template = "The view {view} names {named} columns, but its query has {found}. Name each of them, or none."


@dataclass(eq=False)
class DuplicateViewColumn(SqlError, condition="COLUMN_ALREADY_EXISTS", sqlstate="42711"):
    view: str
    column: str
    template = "The view {view} would have two columns {column}. Give one of them another name (AS)."


@dataclass(eq=False)
class IdentityExhausted(SqlError, condition="ARITHMETIC_OVERFLOW", sqlstate="22003"):
    column: str
    template = (
        "The identity column {column} has no more values: the next one does not fit into a BIGINT. Nothing was written."
    )


@dataclass(eq=False)
class TableWithoutColumns(SqlError, condition="DELTA_READ_TABLE_WITHOUT_COLUMNS", sqlstate="428GU"):
    table: str
    template = (
        "The table {table} has no columns, so there is nothing to read. Add some with ALTER TABLE {table} ADD COLUMNS, "
        "or with the first rows: INSERT WITH SCHEMA EVOLUTION INTO {table} …"
    )


@dataclass(eq=False)
class NoAuditTrail(SqlError, condition="AUDIT_TRAIL_NOT_KEPT", sqlstate="55000"):
    template = "This server keeps no audit trail. Set audit.folder in its configuration, and restart it."
