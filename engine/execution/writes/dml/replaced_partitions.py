"""Replaced partitions: the ones that receive new rows, or the ones for which a condition is true.

Files are grouped by their partition values, even if writers spelled them differently; timestamp texts without an offset
are in the session's zone, as in reads. The write depends only on these partitions: concurrent changes to the rest of
the table do not conflict. So the same check is repeated at the commit, for the files added since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

import pyarrow as pa

from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.execution.writes.replaced_rows import RemainingRows
from engine.planning.plans.reads import ReadPlan
from engine.runtime.parameters import Parameter
from engine.runtime.request import with_changes
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.transaction import NewFiles
from engine.types.arrow_types import Array
from engine.types.partition_values import PartitionValue, parse_partition_value
from engine.types.schema import PrimitiveType, StructField
from engine.types.sql_types import ddl_type

PartitionKey = tuple[PartitionValue, ...]
# Returns the subset of partitions that are replaced.
Wanted = Callable[[Iterable[PartitionKey]], set[PartitionKey]]

# The only NaN object in keys, so that it equals itself.
# Python compares a tuple's members by identity first, so one shared object makes NaN keys
# equal.
_NAN = float("nan")


def partitions_of(table: BoundTable, new: NewFiles, context: ExecutionContext) -> Wanted:
    """Selects the new files' partitions."""
    keys = _Keys(table, context)
    touched = set(keys.of(new.files))
    return touched.intersection


def matching_partitions(
    table: BoundTable, condition: str, context: ExecutionContext, parameters: Sequence[Parameter] = ()
) -> Wanted:
    """Selects the partitions for which Spark evaluates the condition (SQL over the partition columns) to true. Each
    partition is evaluated once.
    """
    columns = _Keys(table, context).columns
    known = dict[PartitionKey, bool]()
    context = replace(context, parameters=parameters)

    def matching_keys(keys: Iterable[PartitionKey]) -> set[PartitionKey]:
        keys = set(keys)
        unknown = [key for key in keys if key not in known]
        matching = _matching(unknown, columns, condition, context)
        known.update((key, key in matching) for key in unknown)
        return {key for key in keys if known[key]}

    return matching_keys


def without_partitions(table: BoundTable, wanted: Wanted, context: ExecutionContext) -> RemainingRows:
    """Returns the files in the replaced partitions; all their rows are removed."""
    keys = _Keys(table, context)

    def may_go(files: Any) -> Array:
        found = keys.of(files)
        replaced = wanted(found)
        return pa.array([key in replaced for key in found], pa.bool_())

    files = table.snapshot.files
    return RemainingRows(removed=files.filter(may_go(files)), reads=may_go)


class _Keys:
    """Partition values, parsed from their texts in the log."""

    def __init__(self, table: BoundTable, context: ExecutionContext) -> None:
        snapshot = table.snapshot
        self.columns = [column for name in snapshot.partition_columns if (column := snapshot.schema.field(name))]
        self._own = snapshot.row_files.partitions
        self._types = [column.data_type for column in self.columns]
        self._physical = snapshot.columns().physical_partition_columns
        self._zone = (
            context.session_zone("Replacing partitions by timestamps")
            if PrimitiveType.TIMESTAMP in self._types
            else UTC
        )

    def key(self, texts: Mapping[str, str | None]) -> PartitionKey:
        values = (
            parse_partition_value(texts.get(physical), data_type, self._zone)
            for physical, data_type in zip(self._physical, self._types, strict=True)
        )
        return tuple(_NAN if value != value else value for value in values)

    def of(self, files: Any) -> list[PartitionKey]:
        """Returns a key for each file."""
        own = self._own(files)
        if own is not None:
            return [(text,) for text in own]
        return [self.key(dict(pairs)) for pairs in files.column("partition_values").to_pylist()]


def _matching(
    keys: list[PartitionKey], partition_columns: list[StructField], condition: str, context: ExecutionContext
) -> set[PartitionKey]:
    if not keys:
        return set()
    names = [column.name for column in partition_columns]
    position = Names(names).new("key")
    columns = ", ".join(map(quote, (position, *names)))
    values = ((str(number), *map(_value, key, partition_columns)) for number, key in enumerate(keys))
    rows = ", ".join(f"({', '.join(each)})" for each in values)
    read = ReadPlan(text=f"SELECT {position} FROM VALUES {rows} AS t({columns}) WHERE {condition}", scans=())
    request = with_changes(context.request, statement_id=f"{context.request.statement_id}-partitions")
    result = context.executor.run_query(read, request, context.parameters)
    try:
        return {keys[number] for batch in result.batches() for number in batch.column(0).to_pylist()}
    finally:
        result.close()


def _value(value: PartitionValue, column: StructField) -> str:
    """Returns a partition value as SQL text."""
    if value is None:
        return f"CAST(NULL AS {ddl_type(column.data_type)})"
    text = value.decode() if isinstance(value, bytes) else str(value)
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    # The typed values are inlined as literals: a relation with as many rows as partitions
    # needs no scan and no file.
    return f"CAST({literal} AS {ddl_type(column.data_type)})"
