"""The columns that a predicate names, and the location of their statistics in the log.

Predicates name logical paths; partition values and statistics are stored under physical ones. A column whose order or
equality differs from the bytes in the log is flagged: `char(n)` is padded on read, and strings with a collation compare
by its rules.

Protocol: "Column Mapping"; "Type Widening" for `delta.typeChanges`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from engine.pruning.predicates import Path, Predicate, columns_of, conjunction, conjuncts
from engine.types.schema import DataType, StructField, StructType
from engine.types.sql_types import COLLATIONS

CHAR_VARCHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
TYPE_CHANGES = "delta.typeChanges"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One column, or a field in a nested one."""

    data_type: DataType
    physical_path: Path
    is_partition: bool
    # False if values compare differently from their form in the log.
    has_byte_order: bool
    # Older files store it as `float`.
    once_float: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """A table's columns by logical path.

    `physical_schema` has the same fields in the same order, by the names under which values and statistics are stored;
    None: the logical names. `time_zone` applies to partition values without an offset, None if unknown.
    """

    schema: StructType
    partition_columns: tuple[str, ...] = ()
    physical_schema: StructType | None = None
    time_zone: tzinfo | None = None

    def resolve(self, path: Path) -> TableColumn | None:
        """Returns the column at a path, by name as Spark resolves names; None if it does not exist."""
        item: StructField | None = None
        physical: list[str] = []
        level: DataType = self.schema
        stored: DataType = self.physical_schema or self.schema
        for name in path:
            item = level.field(name) if isinstance(level, StructType) else None
            if item is None:
                return None
            assert isinstance(level, StructType) and isinstance(stored, StructType), "one shape"
            own = stored.fields[level.fields.index(item)]
            physical.append(own.name)
            level, stored = item.data_type, own.data_type
        if item is None:
            return None
        return TableColumn(
            data_type=level,
            physical_path=tuple(physical),
            is_partition=len(path) == 1 and item.name in self.partition_columns,
            has_byte_order=not _is_char(item) and not item.metadata.get(COLLATIONS),
            once_float=_was_float(item),
        )

    @property
    def physical_partition_columns(self) -> tuple[str, ...]:
        """Returns the keys for partition values, in partition column order."""
        found = (self.resolve((name,)) for name in self.partition_columns)
        return tuple(column.physical_path[0] for column in found if column is not None)

    def split(self, predicate: Predicate) -> tuple[Predicate, Predicate]:
        """Returns the conjuncts of `predicate` on partition columns alone (or on no column), and all others."""
        partition: list[Predicate] = []
        data: list[Predicate] = []
        for part in conjuncts(predicate):
            (partition if self.is_on_partitions(part) else data).append(part)
        return conjunction(tuple(partition)), conjunction(tuple(data))

    def is_on_partitions(self, predicate: Predicate) -> bool:
        """Returns whether `predicate` depends only on partition values."""
        paths = columns_of(predicate)
        if paths is None:
            return False
        columns = [self.resolve(path) for path in paths]
        return all(column is not None and column.is_partition for column in columns)


def _is_char(item: StructField) -> bool:
    declared = item.metadata.get(CHAR_VARCHAR_TYPE)
    return isinstance(declared, str) and declared.strip().lower().startswith("char")


def _was_float(item: StructField) -> bool:
    changes = item.metadata.get(TYPE_CHANGES)
    if not isinstance(changes, list):
        return False
    return any(isinstance(change, dict) and change.get("fromType") == "float" for change in changes)
