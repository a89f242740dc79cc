"""The DESCRIBE HISTORY entry for ALTER TABLE: Delta's operation name and parameters.

Values are texts; composite values are JSON without blanks.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from catalog.conditions import StatementNotSupported
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    ChangeReference,
    DropColumns,
    DropFeature,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.create_table.statement import AddKey, DropKey
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import (
    AddConstraint,
    DropConstraint,
    RenameColumn,
    WrittenChange,
)
from engine.tables.keys import KEY_PREFIX, ForeignKeyDef
from engine.tables.operations import HistoryOperation
from engine.tables.snapshot import TableSnapshot
from engine.types.schema import (
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_data_type,
)
from engine.types.schema_changes import After, First, Position, column_around, find_field

# Field metadata keys that no statement can set.
_OWN_METADATA = ("delta.columnMapping.", "delta.typeChanges")


def operation_of(
    changes: tuple[TableChange, ...], table: TableSnapshot, definition: TableDefinition
) -> HistoryOperation:
    """Returns the operation for changes that led to `definition`. Rejects changes that alter no definition."""
    first, label = changes[0], table.table_root
    if isinstance(first, WrittenChange):
        return first.operation(table.definition.details(label), definition.details(label))
    before, after = table.schema, definition.config(label).schema
    altered = [change for change in changes if isinstance(change, AlterColumn)]
    named = after if len(altered) == len(changes) else before
    if len(altered) > 1:
        return "CHANGE COLUMNS", {"columns": compact([_alter_parameters(change, named) for change in altered])}
    match first:
        case AddColumns(columns=columns):
            added = [
                _column_parameters(column.parts, find_field(after, column.parts), column.position) for column in columns
            ]
            return "ADD COLUMNS", {"columns": compact(added)}
        case RenameColumn(path=parts, name=name):
            new = _attribute_name((*parts[:-1], name))
            return "RENAME COLUMN", {"oldColumnPath": _attribute_name(parts), "newColumnPath": new}
        case DropColumns(columns=paths):
            return "DROP COLUMNS", {"columns": compact([_attribute_name(path) for path in paths])}
        case ReplaceColumns(columns=columns):
            fields = [_field(column.parts, find_field(after, column.parts)) for column in columns]
            return "REPLACE COLUMNS", {"columns": compact(fields)}
        case AlterColumn() as change:
            described = _alter_parameters(change, named)
            position = {"position": described["position"]} if "position" in described else {}
            return "CHANGE COLUMN", {"column": compact(described["column"]), **position}
        case AddConstraint(name=name, expression=expression):
            return "ADD CONSTRAINT", {"name": name, "expr": expression}
        case DropConstraint(name=name):
            return "DROP CONSTRAINT", {"name": name, **_drop_parameters(name, table)}
        case AddKey(key=key):
            parameters = {"name": key.name, "type": "PRIMARY KEY", "columns": compact(key.columns)}
            if isinstance(key, ForeignKeyDef):
                parameters |= {"type": "FOREIGN KEY", "references": _attribute_name(key.parent_parts)}
            return "ADD CONSTRAINT", parameters
        case DropKey(columns=names):
            return "DROP CONSTRAINT", {"columns": compact(names)} if names else {"type": "PRIMARY KEY"}
        case SetProperties(properties=properties):
            return "SET TBLPROPERTIES", {"properties": compact(dict(properties))}
        case UnsetProperties(keys=keys, if_exists=if_exists):
            return "UNSET TBLPROPERTIES", {"properties": compact(keys), "ifExists": compact(if_exists)}
        case SyncIdentity() | RenameTable() | SetLocation() | DropFeature() | ChangeReference():
            raise not_supported(first)
        case _:
            assert_never(first)


def not_supported(change: TableChange) -> StatementNotSupported:
    """Returns the error for a change that no format plans; it names the change by its class's words."""
    words = "".join(f" {letter}" if letter.isupper() else letter.upper() for letter in type(change).__name__)
    return StatementNotSupported(f"ALTER TABLE …{words}")


def compact(value: object) -> str:
    """Returns JSON in the spelling that other log writers use."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _drop_parameters(name: str, table: TableSnapshot) -> dict[str, Any]:
    found = next((check for check in table.checks if check.name.lower() == name.lower()), None)
    if found is not None:
        return {"expr": found.expression, "existed": "true"}
    return {
        "existed": "true"
        if f"{KEY_PREFIX}{name.lower()}" in table.definition.details(table.table_root).properties
        else "false"
    }


def _alter_parameters(change: AlterColumn, schema: StructType) -> dict[str, Any]:
    path = column_around(schema, change.parts)
    return _column_parameters(path, find_field(schema, path), change.position)


def _column_parameters(path: tuple[str, ...], field: StructField, position: Position) -> dict[str, Any]:
    described: dict[str, Any] = {"column": _field(path, field)}
    match position:
        case First():
            described["position"] = "FIRST"
        case After(name=column):
            described["position"] = f"AFTER {column}"
        case None:
            pass
        case _:
            assert_never(position)
    return described


def _field(path: tuple[str, ...], field: StructField) -> dict[str, Any]:
    return {
        "name": _attribute_name((*path[:-1], field.name)),
        "type": _type_name(field),
        "nullable": field.nullable,
        "metadata": {key: value for key, value in field.metadata.items() if not key.startswith(_OWN_METADATA)},
    }


def _attribute_name(path: tuple[str, ...]) -> str:
    """Quotes a name only if it contains a dot, as Spark displays attributes."""
    return ".".join(f"`{name}`" if "." in name else name for name in path)


def _type_name(field: StructField) -> str:
    match field.data_type:
        case StructType():
            return "struct"
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case PrimitiveType() | DecimalType():
            return str(format_data_type(field.data_type))
        case _:
            assert_never(field.data_type)
