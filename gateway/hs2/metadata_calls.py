"""The RPCs for JDBC's metadata as a table: each one's engine request and result shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.runtime.results import ResultStream
from engine.runtime.statement import Statement
from engine.statements.listings.statement import (
    ListColumns,
    ListForeignKeys,
    ListFunctions,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from engine.statements.show.statement import ShowCatalogs
from gateway.hs2 import metadata
from gateway.hs2.gen import ttypes as t
from gateway.hs2.metadata import Shape, parse_catalog, parse_pattern, parse_table_types

# A statement for the engine and its result's shape, or a constant result.
Plan = tuple[Statement, Shape] | ResultStream


@dataclass(frozen=True, slots=True)
class MetadataCall:
    """One RPC; `response` is its response's class."""

    name: str
    operation_type: t.TOperationType
    response: type[Any]
    plan: Callable[[Any], Plan]


def _schemas(request: Any) -> Plan:
    statement = ListSchemas(
        catalog=parse_catalog(request.catalogName), schema_pattern=parse_pattern(request.schemaName)
    )
    return statement, metadata.SCHEMA_SHAPE


def _tables(request: Any) -> Plan:
    types = parse_table_types(request.tableTypes)
    if types is None:
        return metadata.constant(metadata.TABLES)
    statement = ListTables(
        catalog=parse_catalog(request.catalogName),
        schema_pattern=parse_pattern(request.schemaName),
        table_pattern=parse_pattern(request.tableName),
        types=types,
    )
    return statement, metadata.TABLE_SHAPE


def _columns(request: Any) -> Plan:
    statement = ListColumns(
        catalog=parse_catalog(request.catalogName),
        schema_pattern=parse_pattern(request.schemaName),
        table_pattern=parse_pattern(request.tableName),
        column_pattern=parse_pattern(request.columnName),
    )
    return statement, metadata.COLUMN_SHAPE


def _functions(request: Any) -> Plan:
    statement = ListFunctions(
        catalog=parse_catalog(request.catalogName),
        schema_pattern=parse_pattern(request.schemaName),
        pattern=parse_pattern(request.functionName),
    )
    return statement, metadata.FUNCTION_SHAPE


def _primary_keys(request: Any) -> Plan:
    table = _names(request.catalogName, request.schemaName, request.tableName)
    return ListPrimaryKeys(table=table), metadata.PRIMARY_KEY_SHAPE


def _cross_reference(request: Any) -> Plan:
    parent = _names(request.parentCatalogName, request.parentSchemaName, request.parentTableName)
    child = _names(request.foreignCatalogName, request.foreignSchemaName, request.foreignTableName)
    return ListForeignKeys(parent=parent, child=child), metadata.CROSS_REFERENCE_SHAPE


def _names(*parts: str | None) -> tuple[str | None, str | None, str | None]:
    """Returns a table's catalog, schema and name, which are not patterns; an empty one matches any."""
    catalog, schema, table = (part or None for part in parts)
    return catalog, schema, table


_Kind = t.TOperationType
METADATA_CALLS = (
    MetadataCall("GetTypeInfo", _Kind.GET_TYPE_INFO, t.TGetTypeInfoResp, lambda _: metadata.type_info()),
    MetadataCall(
        "GetCatalogs", _Kind.GET_CATALOGS, t.TGetCatalogsResp, lambda _: (ShowCatalogs(), metadata.CATALOG_SHAPE)
    ),
    MetadataCall("GetSchemas", _Kind.GET_SCHEMAS, t.TGetSchemasResp, _schemas),
    MetadataCall("GetTables", _Kind.GET_TABLES, t.TGetTablesResp, _tables),
    MetadataCall("GetTableTypes", _Kind.GET_TABLE_TYPES, t.TGetTableTypesResp, lambda _: metadata.table_types()),
    MetadataCall("GetColumns", _Kind.GET_COLUMNS, t.TGetColumnsResp, _columns),
    MetadataCall("GetFunctions", _Kind.GET_FUNCTIONS, t.TGetFunctionsResp, _functions),
    MetadataCall("GetPrimaryKeys", _Kind.UNKNOWN, t.TGetPrimaryKeysResp, _primary_keys),
    MetadataCall("GetCrossReference", _Kind.UNKNOWN, t.TGetCrossReferenceResp, _cross_reference),
)
