"""Names that refer to a metadata table, `<table>.snapshots`, and a table's history as a relation,
`(DESCRIBE HISTORY t)`.

A table or view with the same name has precedence. Metadata tables contain row values (bounds, partitions) and a history
shows what statements wrote, so a principal cannot read them if a policy hides rows or values from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa

from catalog.conditions import (
    CatalogNotFound,
    InvalidTimeTravel,
    PolicyForbidsStatement,
    SchemaNotFound,
    TableExpected,
    TableNotFound,
    TimeTravelOnView,
    TooManyNameParts,
)
from engine.binding.bound import BoundMetadata, BoundTable, NamedRelation
from engine.sql.query.values import AsOfReference, HistoryOf, TimeTravel
from engine.tables.operations import HISTORY_SCHEMA
from engine.tables.snapshot import MetadataTable
from engine.types.schema import DataType, MapType, PrimitiveType, StructField, StructType

_REFERENCE = re.compile("(?:branch|tag)_(.+)", re.IGNORECASE | re.DOTALL)
_NOT_FOUND = (CatalogNotFound, SchemaNotFound, TableNotFound, TooManyNameParts)


def relation_or_part(
    parts: tuple[str, ...], look: Callable[[tuple[str, ...]], NamedRelation]
) -> NamedRelation | BoundMetadata:
    """Resolves a name; `look` finds tables and views, and its error is raised if the name does not resolve."""
    try:
        return look(parts)
    except _NOT_FOUND:
        found = _part(parts, look) if len(parts) > 1 else None
        if found is None:
            raise
        return found


def branch_or_tag(
    parts: tuple[str, ...], look: Callable[[tuple[str, ...], TimeTravel | None], NamedRelation]
) -> NamedRelation:
    """Resolves a name; `t.branch_x` and `t.tag_x` are snapshots of `t` with these references, unless a table has the
    name.

    `look` finds tables and views; its error is raised if the name does not resolve.
    """
    try:
        return look(parts, None)
    except _NOT_FOUND:
        named = _REFERENCE.fullmatch(parts[-1])
        if named is None or len(parts) == 1:
            raise
        try:
            return look(parts[:-1], AsOfReference(named[1]))
        except (*_NOT_FOUND, TimeTravelOnView, InvalidTimeTravel):
            pass
        raise


def _part(parts: tuple[str, ...], look: Callable[[tuple[str, ...]], NamedRelation]) -> BoundMetadata | None:
    try:
        table = look(parts[:-1])
    except _NOT_FOUND:
        return None
    content = table.snapshot.metadata_table(parts[-1]) if isinstance(table, BoundTable) else None
    if content is None or not isinstance(table, BoundTable):
        return None
    if table.policy is not None:
        raise PolicyForbidsStatement(f"Reading {parts[-1]}", table.label)
    return BoundMetadata(table=table, part=parts[-1], content=content)


def history_of(table: NamedRelation, history: HistoryOf) -> BoundMetadata:
    """Binds a table's history. Raises for a view, and for a table with a row filter or column masks."""
    if not isinstance(table, BoundTable):
        raise TableExpected(table.label)
    if table.policy is not None:
        raise PolicyForbidsStatement("DESCRIBE HISTORY", table.label)
    commits = table.snapshot.history(history.limit).to_pylist()
    rows = tuple({name: _json_value(value) for name, value in commit.items()} for commit in commits)
    return BoundMetadata(table=table, part="history", content=MetadataTable(schema=_HISTORY_COLUMNS, rows=rows))


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


_HISTORY_COLUMNS = _struct_of(HISTORY_SCHEMA)
