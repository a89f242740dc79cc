"""`system.access.table_lineage` and `system.access.column_lineage`, for everybody. Pure.

The columns from Databricks' tables with these names come first, then the statement's type, its first time and the
number of statements: a row is about all statements of a type, not about one. `engine/binding/lineage_rows.py` produces
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.entries import ViewColumn, ViewEntry
from catalog.names import TableName, fold
from catalog.system.audit_table import AUDIT_SCHEMA

_Columns = tuple[tuple[str, str], ...]


def _strings(*names: str) -> _Columns:
    return tuple((name, "string") for name in names)


def _end(side: str) -> _Columns:
    parts = ("table_full_name", "table_catalog", "table_schema", "table_name", "path", "type")
    return _strings(*(f"{side}_{part}" for part in parts))


_ENTITY = _strings("account_id", "metastore_id", "workspace_id", "entity_type", "entity_id", "entity_run_id")
_LAST: _Columns = (
    ("created_by", "string"),
    ("event_time", "timestamp"),
    ("event_date", "date"),
    ("record_id", "string"),
    ("event_id", "string"),
    ("statement_id", "string"),
    ("statement_type", "string"),
    ("first_event_time", "timestamp"),
    ("statement_count", "bigint"),
)
_SOURCE, _TARGET = _end("source"), _end("target")

LINEAGE_RELATIONS: Mapping[str, _Columns] = MappingProxyType(
    {
        "table_lineage": (*_ENTITY, *_SOURCE, *_TARGET, *_LAST),
        "column_lineage": (
            *(*_ENTITY, *_SOURCE, ("source_column_name", "string")),
            *(*_TARGET, ("target_column_name", "string"), *_LAST),
        ),
    }
)


def lineage_view(table: str) -> ViewEntry | None:
    """Returns the view with that name in `system.access`, or None."""
    columns = LINEAGE_RELATIONS.get(fold(table))
    if columns is None:
        return None
    name = TableName(AUDIT_SCHEMA.catalog, AUDIT_SCHEMA.schema, fold(table))
    return ViewEntry(
        name=name,
        text=f"TABLE {name}",
        current=AUDIT_SCHEMA,
        columns=tuple(ViewColumn(name=column, source=column, type=kind) for column, kind in columns),
    )
