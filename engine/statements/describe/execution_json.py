"""DESCRIBE TABLE EXTENDED … AS JSON: one text cell in Spark's form, for tools to parse.

In addition to Spark's form it has `version`, `primary_key`, `foreign_keys`, and for columns `generation_expression` and
`is_identity`; in Databricks' form, which dbt reads, `table_constraints`, `row_filter` and `column_masks`, the last two
only for principals with MANAGE on the table. It has no statistics, which logs do not store for entire tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, assert_never

from catalog.conditions import UnsupportedDataType
from catalog.entries import ViewEntry
from catalog.names import quote
from catalog.policies.policies import Policies, PolicyFunction
from engine.binding.bound import BoundStatement, BoundTable, ColumnInfo, NamedRelation
from engine.binding.visibility import visible_keys
from engine.runtime.session_state import is_temporary
from engine.sql.dialect.type_text import parse_type
from engine.tables.column_metadata import GENERATION, is_identity
from engine.tables.keys import ForeignKey, TableKey, is_key_property, primary_key
from engine.types.column_paths import format_name
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import NO_COLLATIONS, collations_of, format_sql_type, type_sizes


def described_json(bound: BoundStatement, relation: NamedRelation, details: dict[str, str]) -> str:
    """Returns the cell's text; `details` are DESCRIBE EXTENDED's."""
    known = (
        _table(bound, relation) if isinstance(relation, BoundTable) else _view(relation.entry, details.get("View Text"))
    )
    name = relation.entry.name
    described = {
        "table_name": details["Table"],
        "catalog_name": name.catalog,
        "namespace": [name.schema],
        "schema_name": name.schema,
        "columns": [_column(relation, column) for column in relation.columns],
        "owner": details.get("Owner"),
        "created_time": _instant(details.get("Created Time")),
        "last_access": "UNKNOWN",
        "location": details.get("Location"),
        "type": details["Type"],
        "comment": details.get("Comment"),
        **known,
    }
    return json.dumps({key: value for key, value in described.items() if value is not None}, ensure_ascii=False)


def _instant(text: str | None) -> str | None:
    return None if text is None else text.replace(" ", "T").replace("+00:00", "Z")


def _table(bound: BoundStatement, table: BoundTable) -> dict[str, Any]:
    snapshot = table.snapshot
    clustering = [format_name(path) for path in snapshot.details.clustering_columns]
    return {
        "provider": snapshot.format,
        "version": snapshot.version,
        "partition_columns": list(snapshot.partition_columns) or None,
        "clustering_columns": clustering or None,
        **_keys(visible_keys(bound.view, table)),
        **(_policies(table.entry.policies) if bound.view.tells_all(table.entry) else {}),
        "table_properties": {
            key: value for key, value in sorted(snapshot.details.properties.items()) if not is_key_property(key)
        },
    }


def _keys(keys: Sequence[TableKey]) -> dict[str, Any]:
    primary = primary_key(keys)
    foreign = [
        {
            "name": key.name,
            "columns": list(key.columns),
            "parent": list(key.parent),
            "parent_columns": list(key.parent_columns),
            "rely": key.rely,
        }
        for key in keys
        if isinstance(key, ForeignKey)
    ]
    return {
        "primary_key": primary and {"name": primary.name, "columns": list(primary.columns), "rely": primary.rely},
        "foreign_keys": foreign or None,
        "table_constraints": f"[{', '.join(map(_constraint, keys))}]" if keys else None,
    }


def _constraint(key: TableKey) -> str:
    """Returns a key as `(name,PRIMARY KEY (`column`))`."""
    columns = ", ".join(map(quote, key.columns))
    if not isinstance(key, ForeignKey):
        return f"({key.name},PRIMARY KEY ({columns}))"
    parent = ".".join(map(quote, key.parent))
    return f"({key.name},FOREIGN KEY ({columns}) REFERENCES {parent} ({', '.join(map(quote, key.parent_columns))}))"


def _policies(policies: Policies) -> dict[str, Any]:
    row_filter = policies.row_filter
    masks = [
        {
            "column_name": mask.column,
            "function_name": _function(mask.call),
            "using_column_names": _arguments(mask.call),
        }
        for mask in policies.masks
    ]
    return {
        "row_filter": row_filter and {"function_name": _function(row_filter), "column_names": _arguments(row_filter)},
        "column_masks": masks or None,
    }


def _function(call: PolicyFunction) -> dict[str, str]:
    catalog, schema, function = call.function.parts
    return {"catalog_name": catalog, "schema_name": schema, "function_name": function}


def _arguments(call: PolicyFunction) -> list[str]:
    return [each.column or f"{each.literal}" for each in call.arguments]


def _view(entry: ViewEntry, text: str | None) -> dict[str, Any]:
    return {
        "view_text": text,
        "view_original_text": text,
        "view_schema_mode": None if entry.foreign or is_temporary(entry.name) else entry.schema_mode.value,
        "view_catalog_and_namespace": str(entry.current),
        "view_query_output_columns": [column.source for column in entry.columns],
        "table_properties": dict(entry.properties) or None,
    }


def _column(relation: NamedRelation, column: ColumnInfo) -> dict[str, Any]:
    field = relation.snapshot.schema.field(column.name) if isinstance(relation, BoundTable) else None
    described = {
        "name": column.name,
        "type": _column_type(column.type, field),
        "comment": column.comment,
        "nullable": column.nullable,
        "default": column.default,
        "generation_expression": field.metadata.get(GENERATION) if field else None,
        "is_identity": True if field and is_identity(field) else None,
    }
    return {key: value for key, value in described.items() if value is not None}


def _column_type(text: str, field: StructField | None) -> dict[str, Any]:
    """Returns a column's type; `char(n)` and `varchar(n)` are strings in a log, and come from the type's text."""
    sizes = type_sizes(text)
    if sizes.length is not None:
        return {"name": sizes.name, "length": sizes.length}
    if field is not None:
        return _type(field.data_type, collations_of(field), field.name)
    with suppress(UnsupportedDataType):  # a view may have a column type that tables do not support
        return _type(parse_type(text).data_type, NO_COLLATIONS, "")
    return {"name": text}


def _type(data_type: DataType, collations: Mapping[str, str], path: str) -> dict[str, Any]:
    match data_type:
        case PrimitiveType.STRING:
            return {"name": "string", "collation": collations.get(path, ".UTF8_BINARY").partition(".")[2]}
        case PrimitiveType.TIMESTAMP:
            return {"name": "timestamp_ltz"}
        case PrimitiveType():
            return {"name": format_sql_type(data_type)}
        case DecimalType(precision=precision, scale=scale):
            return {"name": "decimal", "precision": precision, "scale": scale}
        case ArrayType(element_type=element, contains_null=nullable):
            of_elements = _type(element, collations, f"{path}.element")
            return {"name": "array", "element_type": of_elements, "element_nullable": nullable}
        case MapType(key_type=key, value_type=value, value_contains_null=nullable):
            of_keys, of_values = _type(key, collations, f"{path}.key"), _type(value, collations, f"{path}.value")
            return {"name": "map", "key_type": of_keys, "value_type": of_values, "value_nullable": nullable}
        case StructType(fields=fields):
            return {"name": "struct", "fields": [_field(field) for field in fields]}
        case _:
            assert_never(data_type)


def _field(field: StructField) -> dict[str, Any]:
    shown = _type(field.data_type, collations_of(field), field.name)
    described = {"name": field.name, "type": shown, "comment": field.comment, "nullable": field.nullable}
    return {key: value for key, value in described.items() if value is not None}
