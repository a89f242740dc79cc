"""The rows of `system.access.audit`: the audit log as JSON files that Spark reads, one partition per day.

Spark parses the lines, one file split at a time, so an audit log may exceed memory. A line that a killed server
truncated is omitted. Files are pruned by `event_date`, their partition column, and by conditions on the earliest
`event_time`: a file contains no line from a later day than its own.

The server and Spark have to see the same directory, so this requires a local master.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa

from catalog.conditions import NoAuditLog
from catalog.system.audit_table import AUDIT_COLUMNS, AUDIT_TABLE, audit_view, day_of, log_files
from engine.binding.bound import BoundFiles, BoundView
from engine.sql.parser import parse_stored_query
from engine.tables.scan import NO_FILES, FileFormat, FileKind
from engine.types.schema import ArrayType, DataType, PrimitiveType, StructField, StructType


def audit_rows(folder: Path | None) -> BoundView:
    """Returns the view over the existing files. Raises `NoAuditLog`."""
    if folder is None:
        raise NoAuditLog()
    query = parse_stored_query(_TEXT)
    assert query is not None
    return BoundView(entry=audit_view(), query=query, relations=(_files(folder),))


def _files(folder: Path) -> BoundFiles:
    found = [(path, path.stat()) for path in log_files(folder)]
    days = [day_of(path) for path, _ in found]
    ends = [_last_ms(day) for day in days]
    known = pa.struct([("time", pa.timestamp("us", "UTC"))])
    return BoundFiles(
        root=str(folder.resolve()),
        files=pa.table(
            {
                "path": pa.array([path.name for path, _ in found], pa.string()),
                "size": pa.array([status.st_size for _, status in found], pa.int64()),
                "modification_time": pa.array([status.st_mtime_ns // 1_000_000 for _, status in found], pa.int64()),
                "partition_values": pa.array(
                    [[("event_date", day)] for day in days], NO_FILES.schema.field("partition_values").type
                ),
            }
        ),
        format=FileFormat(kind=FileKind.JSON, options=(("mode", "DROPMALFORMED"), ("timestampFormat", _TIME_FORMAT))),
        schema=_LINE,
        partition_columns=("event_date",),
        statistics=pa.table({"max_values": pa.array([{"time": end} for end in ends], known)}),
    )


def _last_ms(day: str) -> dt.datetime:
    """Returns the latest time that a line from the day may have, in milliseconds."""
    begin = dt.datetime.combine(dt.date.fromisoformat(day), dt.time(), dt.UTC)
    return begin + dt.timedelta(days=1, milliseconds=-1)


_TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"


def _struct(**columns: DataType) -> StructType:
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


_STRING, _LONG = PrimitiveType.STRING, PrimitiveType.LONG
# The columns read from a line; the last column is the file's.
_LINE = _struct(
    v=PrimitiveType.INTEGER,
    seq=_LONG,
    time=PrimitiveType.TIMESTAMP,
    **dict.fromkeys(
        (
            *("event", "outcome", "sqlstate", "condition", "principal", "real_user", "user", "method", "client_id"),
            *("peer", "wire", "user_agent", "session", "statement", "kind", "text", "text_sha256"),
            *("token_id", "reason", "part", "file", "owner"),
        ),
        _STRING,
    ),
    objects=ArrayType(_struct(name=_STRING, kind=_STRING, use=_STRING, version=_LONG, via_view=_STRING)),
    lineage=ArrayType(
        _struct(
            target=_STRING,
            column=_STRING,
            sources=ArrayType(_struct(relation=_STRING, column=_STRING, transformation=_STRING)),
        )
    ),
    rights=ArrayType(_struct(kind=_STRING, name=_STRING, removed=ArrayType(_STRING), added=ArrayType(_STRING))),
    denied=_struct(privilege=_STRING, on=_STRING),
    columns=ArrayType(_struct(name=_STRING, read=ArrayType(_STRING), written=ArrayType(_STRING))),
    commits=ArrayType(_struct(name=_STRING, version=_LONG)),
    rows_modified=_LONG,
    bytes_out=_LONG,
    ms=_LONG,
    event_date=PrimitiveType.DATE,
)

_PARAMETERS = {"statement": "text"} | {
    name: name for name in ("kind", "user", "owner", "token_id", "reason", "part", "file")
}
_VALUES = {
    "account_id": "CAST(NULL AS STRING)",
    "workspace_id": "CAST(NULL AS STRING)",
    "version": "CAST(v AS STRING)",
    "event_time": "time",
    "event_date": "event_date",
    "source_ip_address": "peer",
    "user_agent": "user_agent",
    "session_id": "session",
    "user_identity": "named_struct('email', coalesce(principal, user), 'subject_name', client_id)",
    "service_name": "'delta-gateway'",
    "action_name": "event",
    "request_id": "statement",
    "request_params": "map_filter(map({}), (k, v) -> v IS NOT NULL)".format(
        ", ".join(f"'{key}', {column}" for key, column in _PARAMETERS.items())
    ),
    "response": (
        "named_struct('status_code', CASE WHEN outcome = 'ok' THEN 200 WHEN outcome = 'denied' THEN 403"
        " WHEN outcome IS NOT NULL THEN 400 END, 'error_message', condition, 'result', outcome)"
    ),
    "audit_level": "'WORKSPACE_LEVEL'",
    "event_id": "CAST(seq AS STRING)",
    "identity_metadata": "named_struct('run_by', coalesce(real_user, principal), 'run_as', principal)",
    "seq": "seq",
    "outcome": "outcome",
    "sqlstate": "sqlstate",
    "error_condition": "condition",
    "authentication_method": "method",
    "client_id": "client_id",
    "wire": "wire",
    "statement_kind": "kind",
    "statement_text": "text",
    "statement_sha256": "text_sha256",
    "objects": "objects",
    "column_lineage": "lineage",
    "denied": "denied",
    "rights": "rights",
    "columns_used": "columns",
    "commits": "commits",
    "rows_modified": "rows_modified",
    "bytes_out": "bytes_out",
    "duration_ms": "ms",
}
assert _VALUES.keys() == AUDIT_COLUMNS.keys()
_SHOWN = ", ".join(f"{value} AS `{name}`" for name, value in _VALUES.items())
_TEXT = f"SELECT {_SHOWN} FROM {AUDIT_TABLE} WHERE v IS NOT NULL"
