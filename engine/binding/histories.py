"""A table's commits as a relation, `(DESCRIBE HISTORY t)`: a read of that table, as the statement is.

The history shows what statements wrote, so a principal cannot read it if a policy hides rows or values from it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from catalog.conditions import PolicyForbidsStatement, TableExpected
from engine.binding.bound import BoundMetadata, BoundTable, NamedRelation
from engine.sql.query.values import HistoryOf
from engine.tables.operations import HISTORY_SCHEMA
from engine.tables.snapshot import MetadataTable
from engine.types.schema import DataType, MapType, PrimitiveType, StructField, StructType


def history_of(table: NamedRelation, history: HistoryOf) -> BoundMetadata:
    """Binds a table's history. Raises for a view, and for a table with a row filter or column masks."""
    if not isinstance(table, BoundTable):
        raise TableExpected(table.label)
    if table.policy is not None:
        raise PolicyForbidsStatement("DESCRIBE HISTORY", table.label)
    commits = table.snapshot.history(history.limit).to_pylist()
    rows = tuple({name: _json_value(value) for name, value in commit.items()} for commit in commits)
    return BoundMetadata(table=table, part="history", content=MetadataTable(schema=_SCHEMA, rows=rows))


def _json_value(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case list():  # the pairs of a map
            return [{"key": key, "value": text} for key, text in value]
        case _:  # a text, a number or a struct of texts
            return value


def _type_of(kind: pa.DataType) -> DataType:
    if pa.types.is_map(kind):
        return MapType(PrimitiveType.STRING, PrimitiveType.STRING)
    if pa.types.is_struct(kind):
        return _struct_of(kind)
    if pa.types.is_timestamp(kind):
        return PrimitiveType.TIMESTAMP
    if pa.types.is_boolean(kind):
        return PrimitiveType.BOOLEAN
    return PrimitiveType.LONG if pa.types.is_integer(kind) else PrimitiveType.STRING


def _struct_of(fields: Any) -> StructType:
    return StructType(tuple(StructField(field.name, _type_of(field.type)) for field in fields))


_SCHEMA = _struct_of(HISTORY_SCHEMA)
