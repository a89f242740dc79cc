"""Schema requirements for every version that we commit.

Names are unique without regard to case, at every level; without column mapping they may not contain characters that are
invalid in Parquet or Hive. Partition columns exist, have atomic types, and are not the only columns. With column
mapping every field has an id and a physical name, ids and physical paths are unique, and `maxColumnId` is at least the
highest id.

Protocol: "Column Mapping"; names and partition columns follow delta-spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

from catalog.conditions import (
    AllColumnsArePartitions,
    DuplicateColumns,
    InvalidColumnNames,
    InvalidPartitionColumnType,
    MappingInconsistent,
    MaxColumnIdNotSet,
    MaxColumnIdTooLow,
    PartitionColumnNotFound,
    ReservedColumnNames,
)
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import NO_MAPPING, PHYSICAL_NAME, column_id, physical_schema
from engine.delta.spec.properties import COLUMN_MAPPING_MAX_ID
from engine.types.schema import ArrayType, MapType, PrimitiveType, StructType, format_data_type, walk_fields
from engine.types.schema_changes import ensure_distinct_names

T = TypeVar("T", bound=Hashable)

_ODD_CHARACTERS = frozenset(" ,;{}()\n\t=")
_NO_PARTITIONS = (PrimitiveType.VARIANT, PrimitiveType.VOID)
_CDC_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})


def ensure_schema(config: DeltaConfig) -> None:
    """Raises the error for the first violated requirement."""
    _ensure_names(config)
    _ensure_partition_columns(config)
    if config.column_mapping_mode != NO_MAPPING:
        _ensure_mapping(config)


def odd_names(schema: StructType) -> str:
    """Lists columns whose names require column mapping, for error messages; empty if all names are valid."""
    odd = [".".join(path) for path, _ in walk_fields(schema) if _ODD_CHARACTERS & set(path[-1])]
    return ", ".join(map(repr, odd))


def _ensure_names(config: DeltaConfig) -> None:
    ensure_distinct_names(config.schema)
    if config.column_mapping_mode == NO_MAPPING:
        odd = odd_names(config.schema)
        if odd:
            raise InvalidColumnNames(odd)
    # A feed's rows have these columns besides the table's own.
    if config.is_enabled("changeDataFeed"):
        reserved = [name for name in config.schema.names if name.casefold() in _CDC_COLUMNS]
        if reserved:
            raise ReservedColumnNames(", ".join(reserved))


def _ensure_partition_columns(config: DeltaConfig) -> None:
    columns = config.metadata.partition_columns
    exact = {field.name: field for field in config.schema.fields}
    for name in columns:
        field = exact.get(name)
        if field is None:
            raise PartitionColumnNotFound(name, ", ".join(config.schema.names))
        # "Partition Value Serialization" has no text for these types.
        if isinstance(field.data_type, StructType | ArrayType | MapType) or field.data_type in _NO_PARTITIONS:
            raise InvalidPartitionColumnType(name, str(format_data_type(field.data_type)))
    twice = _duplicates(name.casefold() for name in columns)
    if twice:
        raise DuplicateColumns(", ".join(twice))
    if columns and len(columns) == len(config.schema.fields):
        raise AllColumnsArePartitions(", ".join(columns))


def _ensure_mapping(config: DeltaConfig) -> None:
    fields = [(".".join(path), field) for path, field in walk_fields(config.schema)]
    for path, field in fields:
        if column_id(field) is None or not isinstance(field.metadata.get(PHYSICAL_NAME), str):
            raise MappingInconsistent(config.table, f"the column {path} has no id or no physical name")
    ids = [column_id(field) or 0 for _, field in fields]
    for shared in _duplicates(ids):
        raise MappingInconsistent(config.table, f"several columns have the id {shared}")
    # Two columns with one physical path would be read from the same file column.
    physical = [path for path, _ in walk_fields(physical_schema(config.schema, config.column_mapping_mode))]
    for names in _duplicates(physical):
        raise MappingInconsistent(config.table, f"several columns have the physical name {'.'.join(names)}")
    if COLUMN_MAPPING_MAX_ID.key not in config.metadata.configuration:
        raise MaxColumnIdNotSet(config.table)
    recorded = config.get(COLUMN_MAPPING_MAX_ID)
    highest = max(ids, default=0)
    if recorded < highest:
        raise MaxColumnIdTooLow(config.table, recorded, highest)


def _duplicates(items: Iterable[T]) -> list[T]:
    return [item for item, count in Counter(items).items() if count > 1]
