"""`system.access.audit`: the audit log as a relation, for administrators. Pure, except :func:`log_files`.

The columns from Databricks' table with that name come first, then additional ones; `system.audit` is a short name for
it. Its rows are the lines in the audit log's files, one file per day, which the server writes (`gateway/audit`) and a
statement reads (`engine/binding/audit_rows.py`): both use the file names from here. `event_date` is the file's day. A
line may be older than that day if the clock was set back, but never newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from catalog.entries import SchemaEntry, ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName

SYSTEM_CATALOG = "system"
AUDIT_SCHEMA = SchemaName(SYSTEM_CATALOG, "access")
AUDIT_TABLE = TableName(SYSTEM_CATALOG, AUDIT_SCHEMA.schema, "audit")

_OBJECTS = "array<struct<name: string, kind: string, use: string, version: bigint, via_view: string>>"
_FROM = "array<struct<relation: string, column: string, transformation: string>>"

AUDIT_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "account_id": "string",
        "workspace_id": "string",
        "version": "string",
        "event_time": "timestamp",
        "event_date": "date",
        "source_ip_address": "string",
        "user_agent": "string",
        "session_id": "string",
        "user_identity": "struct<email: string, subject_name: string>",
        "service_name": "string",
        "action_name": "string",
        "request_id": "string",
        "request_params": "map<string, string>",
        "response": "struct<status_code: int, error_message: string, result: string>",
        "audit_level": "string",
        "event_id": "string",
        "identity_metadata": "struct<run_by: string, run_as: string>",
        "seq": "bigint",
        "outcome": "string",
        "sqlstate": "string",
        "error_condition": "string",
        "authentication_method": "string",
        "client_id": "string",
        "wire": "string",
        "statement_kind": "string",
        "statement_text": "string",
        "statement_sha256": "string",
        "objects": _OBJECTS,
        "column_lineage": f"array<struct<target: string, column: string, sources: {_FROM}>>",
        "denied": "struct<privilege: string, on: string>",
        "rights": "array<struct<kind: string, name: string, removed: array<string>, added: array<string>>>",
        "columns_used": "array<struct<name: string, read: array<string>, written: array<string>>>",
        "commits": "array<struct<name: string, version: bigint>>",
        "rows_modified": "bigint",
        "bytes_out": "bigint",
        "duration_ms": "bigint",
    }
)


def is_audit_schema(schema: SchemaName) -> bool:
    """Returns True for `system.access`, in any case of letters."""
    return schema == AUDIT_SCHEMA


def audit_schema() -> SchemaEntry:
    """Returns the entry for `system.access`, which has no owner and is not stored."""
    return SchemaEntry(name=AUDIT_SCHEMA, comment="Who did what")


def audit_view() -> ViewEntry:
    """Returns the entry for `system.access.audit`. Its text only names it; the rows come from the audit log's files."""
    return ViewEntry(
        name=AUDIT_TABLE,
        text=f"TABLE {AUDIT_TABLE}",
        current=AUDIT_SCHEMA,
        columns=tuple(ViewColumn(name=name, source=name, type=kind) for name, kind in AUDIT_COLUMNS.items()),
    )


def file_name(day: str) -> str:
    """Returns the file name for a day such as `2026-01-31`."""
    return f"audit-{day}.jsonl"


def day_of(path: Path) -> str:
    """Returns the UTC day of an audit log file `audit-<day>`, as `YYYY-MM-DD`."""
    return path.stem.removeprefix("audit-")


def log_files(folder: Path) -> list[Path]:
    """Returns the audit log's files, oldest first."""
    return sorted(folder.glob("audit-????-??-??.jsonl"))
