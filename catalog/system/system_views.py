"""The schemas and views that always exist: `information_schema`, `system.access` and `system.gateway`. Pure.

Their names are reserved. `information_schema` is in every catalog and in `system`, a catalog that lists omit.
`system.access.audit` is visible only to administrators, or to everybody if authorization is off.
"""

from __future__ import annotations

from catalog.entries import SchemaEntry, ViewEntry
from catalog.names import CatalogName, SchemaName, TableName, fold
from catalog.system.audit_table import (
    AUDIT_SCHEMA,
    AUDIT_TABLE,
    SYSTEM_CATALOG,
    audit_schema,
    audit_view,
    is_audit_schema,
)
from catalog.system.information_schema import RELATIONS, information_schema, information_view, is_information_schema
from catalog.system.lineage_tables import LINEAGE_RELATIONS, lineage_view
from catalog.system.server_views import SERVER_RELATIONS, SERVER_SCHEMA, is_server_schema, server_schema, server_view

# The schemas in the catalog `system`, by name.
SCHEMAS_OF_SYSTEM = (AUDIT_SCHEMA, SERVER_SCHEMA, information_schema(SYSTEM_CATALOG).name)


def is_system_catalog(catalog: CatalogName) -> bool:
    """Returns True for the catalog `system`, in any case of letters."""
    return catalog == CatalogName(SYSTEM_CATALOG)


def is_system_schema(schema: SchemaName) -> bool:
    """Returns True for a schema that always exists: an `information_schema`, `system.access` or `system.gateway`."""
    return is_information_schema(schema) or is_audit_schema(schema) or is_server_schema(schema)


def system_schema(schema: SchemaName) -> SchemaEntry:
    """Returns the entry for a system schema."""
    if is_audit_schema(schema):
        return audit_schema()
    return server_schema() if is_server_schema(schema) else information_schema(schema.catalog)


def system_view(name: TableName) -> ViewEntry | None:
    """Returns the system view with that name, or None."""
    if is_audit_schema(name.schema_name):
        return audit_view() if fold(name.table) == AUDIT_TABLE.table else lineage_view(name.table)
    return server_view(name.table) if is_server_schema(name.schema_name) else information_view(name)


def find_by_short_name(name: TableName) -> ViewEntry | None:
    """Returns the view for a short name such as `system.audit` or `system.queries`, in any catalog, or None. A table
    with that name takes precedence.
    """
    if fold(name.schema) != SYSTEM_CATALOG:
        return None
    if fold(name.table) == AUDIT_TABLE.table:
        return audit_view()
    return lineage_view(name.table) or server_view(name.table)


def system_views(schema: SchemaName) -> list[ViewEntry]:
    """Returns all views in a system schema."""
    if is_audit_schema(schema):
        return [audit_view(), *(view for view in map(lineage_view, sorted(LINEAGE_RELATIONS)) if view is not None)]
    if is_server_schema(schema):
        return [view for view in map(server_view, sorted(SERVER_RELATIONS)) if view is not None]
    views = (information_view(TableName(schema.catalog, schema.schema, name)) for name in RELATIONS)
    return [view for view in views if view is not None]
