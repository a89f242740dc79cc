"""Queries that the log answers: no Spark job, no data file opened.

Tools ask for `count(*)` and the first and last day of a table all the time. What the log knows exactly is answered from
it, for all the columns of the query or for none: a query of which one column must be read is read.
"""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow.compute as pc

from engine.bound import BoundRelation, BoundTable
from engine.delta.arrow_types import arrow_type
from engine.delta.metadata_answers import Answer, CountedFiles, count_by_partition, count_rows, extreme
from engine.delta.snapshot import Snapshot
from engine.delta.snapshot_pruning import counted_files, pruning_of, table_columns
from engine.delta.spec.features import Operation
from engine.delta.spec.schema import PrimitiveType
from engine.delta.truth import Mask
from engine.plan.plans import AnswerPlan
from engine.results import BIGINT, Column
from engine.sql_types import format_sql_type
from engine.statements import Aggregate, AggregateKind, Query

_EPOCH = datetime.date(1970, 1, 1)


def answer_from_log(query: Query, relations: tuple[BoundRelation, ...]) -> AnswerPlan | None:
    """The row that `query` asks for, if it asks for no more than the log knows exactly."""
    if not query.aggregates or len(relations) != 1 or not isinstance(relations[0], BoundTable):
        return None
    snapshot = relations[0].snapshot
    snapshot.config.ensure_supported(Operation.READ)
    called = query.relations[0].alias or query.relations[0].name_parts[-1]
    if not all(_is_plain(item, snapshot, called) for item in query.aggregates):
        return None
    counted = counted_files(snapshot)
    every = np.ones(len(counted), dtype=bool)
    columns, row = [], []
    for item in query.aggregates:
        found = _answer(item, snapshot, counted, every)
        if found is None:
            return None
        columns.append((item.name, found[0]))
        row.append(found[1])
    return AnswerPlan(columns=tuple(columns), row=tuple(row))


def _is_plain(item: Aggregate, snapshot: Snapshot, called: str) -> bool:
    """Whether its column is one of the table's, spelled as there (Spark names the result by the spelling)."""
    return item.column is None or (item.column in snapshot.schema.names and item.qualifier in (None, called))


def _answer(item: Aggregate, snapshot: Snapshot, counted: CountedFiles, every: Mask) -> tuple[Column, object] | None:
    """The type and value of one aggregate, None where the log does not know it."""
    if item.kind is AggregateKind.COUNT_ROWS:
        count = count_rows(counted, every)
        return (BIGINT, count.value) if isinstance(count, Answer) else None
    column = table_columns(snapshot).resolve((item.column or "",))
    if column is None or not column.has_byte_order:
        return None
    shown = Column(arrow_type(column.data_type), format_sql_type(column.data_type))
    highest = item.kind is AggregateKind.MAX
    if column.is_partition:
        return _of_partitions(item, snapshot, counted, every, shown)
    found = extreme(counted, every, column, highest=highest)
    if not isinstance(found, Answer):
        return None
    value = found.value.value
    if column.data_type is PrimitiveType.DATE and isinstance(value, int):
        return shown, _EPOCH + datetime.timedelta(days=value)
    return shown, value


def _of_partitions(
    item: Aggregate, snapshot: Snapshot, counted: CountedFiles, every: Mask, shown: Column
) -> tuple[Column, object] | None:
    """The extreme of a partition column: of its values, those of files that hold rows."""
    column = pruning_of(snapshot).partition_column((item.column or "",))
    if column is None or column.values is None or column.unreadable is not None or not column.is_canonical:
        return None
    rows = count_by_partition(counted, every, column)
    if not isinstance(rows, Answer):
        return None
    values = rows.value["value"]
    found = pc.max(values) if item.kind is AggregateKind.MAX else pc.min(values)
    return shown, found.as_py()
