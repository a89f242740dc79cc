"""Definitions for tables that share the data files with a table in another format.

Columns keep the ids in the files; others get new ids. A name mapping identifies columns by name in files without ids,
or with ids missing for some fields (list elements).

Source: Iceberg table specification, "Name Mapping Serialization".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from engine.iceberg.definition.changes import define_table
from engine.iceberg.definition.column_types import CURRENT_DEFAULT
from engine.iceberg.definition.columns import DEFAULTS_SINCE, ID
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.properties import FORMAT_VERSION, NAME_MAPPING
from engine.iceberg.spec.types import IcebergField, IcebergType, ListType, MapOfType, SimpleType, StructOfType
from engine.tables.definition_changes import set_properties
from engine.tables.scan import FIELD_ID
from engine.tables.shared_files import STORED_NAMES, SharedFiles
from engine.types.schema import ArrayType, DataType, MapType, StructField, StructType, map_fields

_COMMENT = "comment"


def shared_definition(
    label: str, shared: SharedFiles, properties: Mapping[str, str]
) -> tuple[IcebergDefinition, tuple[IcebergField, ...]]:
    """Returns the definition, and its columns under the names in the files. Raises like `define_table`.

    Defaults are kept if the format version supports them: they apply to new rows only.
    """
    version = properties.get(FORMAT_VERSION, "")
    has_defaults = version.isdecimal() and int(version) >= DEFAULTS_SINCE
    columns = map_fields(shared.schema, lambda field: _column(field, has_defaults=has_defaults))
    changes = set_properties(properties)
    definition = define_table(label, columns, shared.partition_columns, changes, last_column_id=shared.max_id)
    stored = stored_fields(definition.iceberg_schema.fields, shared.schema)
    mapping = json.dumps(name_mapping(stored))
    return replace(definition, properties={**definition.properties, NAME_MAPPING: mapping}), stored


def _column(field: StructField, *, has_defaults: bool) -> StructField:
    metadata: dict[str, Any] = {}
    if FIELD_ID in field.metadata:
        metadata[ID] = field.metadata[FIELD_ID]
    for key in (_COMMENT, *([CURRENT_DEFAULT] if has_defaults else [])):
        if key in field.metadata:
            metadata[key] = field.metadata[key]
    return replace(field, metadata=metadata)


def name_mapping(fields: Iterable[IcebergField]) -> list[dict[str, Any]]:
    """Returns the columns' name mapping, in the table property's form."""
    return [{"field-id": each.id, "names": [each.name], **_inner_mapping(each.type)} for each in fields]


def _inner_mapping(type_: IcebergType) -> dict[str, Any]:
    match type_:
        case StructOfType(fields=fields):
            return {"fields": name_mapping(fields)}
        case ListType(element=element):
            return {"fields": name_mapping([element])}
        case MapOfType(key=key, value=value):
            return {"fields": name_mapping([key, value])}
        case SimpleType():
            return {}
        case _:
            assert_never(type_)


def stored_fields(fields: Sequence[IcebergField], schema: StructType) -> tuple[IcebergField, ...]:
    """Returns the fields under the physical names in `schema`'s metadata; both have equal fields in equal order."""
    return tuple(
        replace(field, name=_stored_name(column), type=_stored_type(field.type, column.data_type))
        for field, column in zip(fields, schema.fields, strict=True)
    )


def _stored_name(column: StructField) -> str:
    names = column.metadata.get(STORED_NAMES)
    return str(names[0]) if names else column.name


def _stored_type(type_: IcebergType, data_type: DataType) -> IcebergType:
    match type_, data_type:
        case StructOfType(fields), StructType():
            return StructOfType(stored_fields(fields, data_type))
        case ListType(element), ArrayType(inner):
            return ListType(replace(element, type=_stored_type(element.type, inner)))
        case MapOfType(key, value), MapType(key_type, value_type):
            return MapOfType(
                replace(key, type=_stored_type(key.type, key_type)),
                replace(value, type=_stored_type(value.type, value_type)),
            )
        case _:  # any other pair of types
            return type_
