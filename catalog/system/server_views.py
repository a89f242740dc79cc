"""`system.gateway`: sessions, statements, tables and metrics as relations, for everybody. Pure.

This module has their names and columns; `system.sessions` is a short name for `system.gateway.sessions`, and so on.
`engine/binding/server_rows.py` produces the rows when a statement names one, limited to the rows that are visible to
the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.entries import SchemaEntry, ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName, fold
from catalog.system.audit_table import SYSTEM_CATALOG

SERVER_SCHEMA = SchemaName(SYSTEM_CATALOG, "gateway")

# Columns with their types, by relation.
SERVER_RELATIONS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "sessions": (
            ("session_id", "string"),
            ("user_name", "string"),
            ("interface", "string"),
            ("client_address", "string"),
            ("user_agent", "string"),
            ("current_catalog", "string"),
            ("current_schema", "string"),
            ("created", "timestamp"),
            ("last_used", "timestamp"),
            ("running_statements", "int"),
        ),
        "queries": (
            ("statement_id", "string"),
            ("session_id", "string"),
            ("user_name", "string"),
            ("interface", "string"),
            ("statement_class", "string"),
            ("statement_text", "string"),
            ("state", "string"),
            ("error_condition", "string"),
            ("sqlstate", "string"),
            ("error_message", "string"),
            ("created", "timestamp"),
            ("ended", "timestamp"),
            ("duration_ms", "bigint"),
            ("stage_ms", "map<string, double>"),
            ("result_rows", "bigint"),
            ("read_bytes", "bigint"),
            ("pruned_bytes", "bigint"),
            ("from_cache", "boolean"),
        ),
        "tables": (
            ("table_catalog", "string"),
            ("table_schema", "string"),
            ("table_name", "string"),
            ("table_owner", "string"),
            ("format", "string"),
            ("location", "string"),
            ("version", "bigint"),
            ("last_commit", "timestamp"),
            ("num_files", "bigint"),
            ("size_bytes", "bigint"),
            ("partition_columns", "array<string>"),
            ("features", "array<string>"),
            ("error_condition", "string"),
        ),
        "metrics": (
            ("name", "string"),
            ("type", "string"),
            ("labels", "map<string, string>"),
            ("value", "double"),
            ("description", "string"),
        ),
    }
)


def is_server_schema(schema: SchemaName) -> bool:
    """Returns True for `system.gateway`, in any case of letters."""
    return schema == SERVER_SCHEMA


def server_schema() -> SchemaEntry:
    """Returns the entry for `system.gateway`, which has no owner and is not stored."""
    return SchemaEntry(name=SERVER_SCHEMA, comment="What the server does")


def server_view(table: str) -> ViewEntry | None:
    """Returns the view with that name in `system.gateway`, or None."""
    columns = SERVER_RELATIONS.get(fold(table))
    if columns is None:
        return None
    name = TableName(SYSTEM_CATALOG, SERVER_SCHEMA.schema, fold(table))
    return ViewEntry(
        name=name,
        text=f"TABLE {name}",
        current=SERVER_SCHEMA,
        columns=tuple(ViewColumn(name=column, source=column, type=kind) for column, kind in columns),
    )
