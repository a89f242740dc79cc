"""`information_schema`: views over catalog metadata, in each catalog, and over all catalogs in `system`. Pure.

These views always exist, so the schema and its names are reserved. This module has their names and columns, as the SQL
standard and Databricks define them; `engine/binding/information_rows.py` produces the rows when a statement names one.
Schema lists omit this schema so that tools show the users' own schemas; it is still found by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.entries import SchemaEntry, ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName, fold

INFORMATION_SCHEMA = "information_schema"

Columns = tuple[tuple[str, str], ...]


def _columns(text: str) -> Columns:
    """Parses column names with their types; a name without a type is a string."""
    words = [item.split() for item in text.split(",")]
    return tuple((item[0], item[1] if len(item) > 1 else "string") for item in words)


_TABLE = "table_catalog, table_schema, table_name"
_TAG = "tag_name, tag_value"
_GRANT, _PRIVILEGE = "grantor, grantee", "privilege_type, is_grantable, inherited_from"
_VOLUME = "volume_catalog, volume_schema, volume_name"
_SPECIFIC = "specific_catalog, specific_schema, specific_name"
_ROUTINE = "routine_catalog, routine_schema, routine_name"
_DATA_TYPE = (
    "full_data_type, data_type, character_maximum_length bigint, numeric_precision int, numeric_precision_radix int, "
    "numeric_scale int, datetime_precision int"
)
_CONSTRAINT = "constraint_catalog, constraint_schema, constraint_name"

RELATIONS: Mapping[str, Columns] = MappingProxyType(
    {
        "catalog_privileges": _columns(f"{_GRANT}, catalog_name, {_PRIVILEGE}"),
        "catalog_tags": _columns(f"catalog_name, {_TAG}"),
        "catalogs": _columns("catalog_name, catalog_owner, comment"),
        "check_constraints": _columns(f"{_CONSTRAINT}, check_clause, sql_path"),
        "column_masks": _columns(f"{_TABLE}, column_name, mask_catalog, mask_schema, mask_name, using_columns"),
        "column_tags": _columns(f"catalog_name, schema_name, table_name, column_name, {_TAG}"),
        "columns": _columns(
            f"{_TABLE}, column_name, ordinal_position int, column_default, is_nullable, {_DATA_TYPE}, "
            "is_identity, identity_generation, identity_start, identity_increment, "
            "is_generated, generation_expression, partition_ordinal_position int, comment"
        ),
        "constraint_column_usage": _columns(f"{_TABLE}, column_name, {_CONSTRAINT}"),
        "constraint_table_usage": _columns(f"{_CONSTRAINT}, {_TABLE}"),
        "information_schema_catalog_name": _columns("catalog_name"),
        "key_column_usage": _columns(
            f"{_CONSTRAINT}, {_TABLE}, column_name, ordinal_position int, position_in_unique_constraint int"
        ),
        "referential_constraints": _columns(
            f"{_CONSTRAINT}, unique_constraint_catalog, unique_constraint_schema, unique_constraint_name, "
            "match_option, update_rule, delete_rule"
        ),
        "parameters": _columns(
            f"{_SPECIFIC}, ordinal_position int, parameter_mode, is_result, parameter_name, {_DATA_TYPE}, "
            "parameter_default, comment"
        ),
        "routine_columns": _columns(f"{_SPECIFIC}, column_name, ordinal_position int, {_DATA_TYPE}, comment"),
        "routine_privileges": _columns(f"{_GRANT}, {_SPECIFIC}, {_ROUTINE}, {_PRIVILEGE}"),
        "routines": _columns(
            f"{_SPECIFIC}, {_ROUTINE}, routine_owner, routine_type, data_type, routine_body, routine_definition, "
            "is_deterministic, comment, created timestamp"
        ),
        "row_filters": _columns(f"{_TABLE}, filter_catalog, filter_schema, filter_name, target_columns"),
        "schema_privileges": _columns(f"{_GRANT}, catalog_name, schema_name, {_PRIVILEGE}"),
        "schema_tags": _columns(f"catalog_name, schema_name, {_TAG}"),
        "schemata": _columns("catalog_name, schema_name, schema_owner, comment, storage_location"),
        "table_constraints": _columns(f"{_CONSTRAINT}, {_TABLE}, constraint_type, is_deferrable, enforced"),
        "table_privileges": _columns(f"{_GRANT}, {_TABLE}, {_PRIVILEGE}"),
        "table_tags": _columns(f"catalog_name, schema_name, table_name, {_TAG}"),
        "tables": _columns(
            f"{_TABLE}, table_type, is_insertable_into, table_owner, comment, created timestamp, "
            "created_by, last_altered timestamp, last_altered_by, data_source_format, storage_path"
        ),
        "volume_privileges": _columns(f"{_GRANT}, {_VOLUME}, {_PRIVILEGE}"),
        "volumes": _columns(f"{_VOLUME}, volume_type, volume_owner, comment, storage_location, created timestamp"),
        "views": _columns(f"{_TABLE}, view_definition, check_option, is_updatable, is_insertable_into"),
    }
)


def is_information_schema(schema: SchemaName) -> bool:
    """Returns True for a schema called `information_schema`, in any catalog and any case of letters."""
    return fold(schema.schema) == INFORMATION_SCHEMA


def information_schema(catalog: str) -> SchemaEntry:
    """Returns the entry for a catalog's `information_schema`, which has no owner and is not stored."""
    return SchemaEntry(name=SchemaName(catalog, INFORMATION_SCHEMA), comment="What the catalog knows")


def information_view(name: TableName) -> ViewEntry | None:
    """Returns the view with that name, or None."""
    columns = RELATIONS.get(fold(name.table)) if is_information_schema(name.schema_name) else None
    if columns is None:
        return None
    spelled = TableName(name.catalog, INFORMATION_SCHEMA, fold(name.table))
    return ViewEntry(
        name=spelled,
        text=f"TABLE {spelled}",
        current=spelled.schema_name,
        columns=tuple(ViewColumn(name=column, source=column, type=sql_type) for column, sql_type in columns),
    )
