"""Metadata-only queries: no Spark job, no data file opened.

BI tools frequently query `count(*)`, the first and last day or a table's partitions. Exact values in the log answer
these queries, if all columns of the query are available: if one column must be read, the query runs normally. The
reason is a sentence for EXPLAIN, not an error.
"""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.binding.bound import BoundRelation, BoundTable
from engine.planning.plans.reads import AnswerPlan
from engine.planning.reads.answer_conditions import typed_condition
from engine.pruning.metadata_answers import (
    Answer,
    CountedFiles,
    NoAnswer,
    count_by_partition,
    count_rows,
    count_values,
    exact_selection,
    extreme,
)
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumn
from engine.pruning.three_valued_logic import Mask
from engine.runtime.results import BIGINT, ResultColumn
from engine.sql.query.values import Aggregate, AggregateKind, MetadataQuery, Query
from engine.tables.operations import TableOperation
from engine.tables.snapshot import TableSnapshot
from engine.types.arrow_types import arrow_type
from engine.types.schema import DecimalType, PrimitiveType
from engine.types.sql_types import format_sql_type

_EPOCH = datetime.date(1970, 1, 1)
_NOT_METADATA_ONLY = NoAnswer("it asks for more than counts, extremes and partition values of one table")
_OTHER_COMPARISONS = NoAnswer("the session compares dates with texts as texts")
_UNKNOWN_COLUMN = NoAnswer("a column is not one of the table's, as they are spelled")
# Types whose partition values do not depend on the time zone.
_GROUPED = frozenset(
    {
        PrimitiveType.STRING,
        PrimitiveType.BYTE,
        PrimitiveType.SHORT,
        PrimitiveType.INTEGER,
        PrimitiveType.LONG,
        PrimitiveType.BOOLEAN,
        PrimitiveType.DATE,
    }
)


def answer_from_log(query: Query, relations: tuple[BoundRelation, ...]) -> AnswerPlan | NoAnswer:
    """Returns the rows of `query` if the log contains exactly these values; otherwise the reason."""
    metadata_query = query.metadata_query
    if metadata_query is None or len(relations) != 1 or not isinstance(relations[0], BoundTable):
        return _NOT_METADATA_ONLY
    table = relations[0]
    if table.policy is not None:  # the log includes hidden rows
        return _NOT_METADATA_ONLY
    if not table.snapshot.schema.fields:  # which cannot be read, not even its row count
        return _NOT_METADATA_ONLY
    table.snapshot.ensure_supported(TableOperation.READ)
    called = query.relations[0].alias or query.relations[0].name_parts[-1]
    if not all(_is_plain(item, table.snapshot, called) for item in metadata_query.items):
        return _UNKNOWN_COLUMN
    if metadata_query.condition is not None and table.has_dates_as_texts:
        return _OTHER_COMPARISONS
    pruning = table.snapshot.pruning()
    selected = _selected_files(metadata_query, pruning)
    if isinstance(selected, NoAnswer):
        return selected
    requested = {item.column for item in metadata_query.items if item.column is not None}
    answering = _AnswerBuilder(pruning, table.snapshot.counted_files(requested), selected)
    found = answering.groups(metadata_query) if metadata_query.group is not None else answering.row(metadata_query)
    if isinstance(found, NoAnswer):
        return found
    columns, rows = found
    names = (item.name for item in metadata_query.items)
    shown = (item.kind.value if item.column is None else f"{item.kind}({item.column})" for item in metadata_query.items)
    return AnswerPlan(
        table=table,
        files=int(np.count_nonzero(selected)),
        statistics=tuple(shown),
        columns=tuple(zip(names, columns, strict=True)),
        rows=rows,
    )


def _is_plain(item: Aggregate, snapshot: TableSnapshot, called: str) -> bool:
    """Returns whether its column is a table column with the same spelling (Spark names the result by the spelling)."""
    return item.column is None or (item.column in snapshot.schema.names and item.qualifier in (None, called))


def _selected_files(metadata_query: MetadataQuery, pruning: FilePruning) -> Mask | NoAnswer:
    """Returns the files whose rows all satisfy the condition, if no other file has matching rows."""
    if metadata_query.condition is None:
        return np.ones(len(pruning), dtype=bool)
    condition = typed_condition(metadata_query.condition, pruning.columns)
    if isinstance(condition, NoAnswer):
        return condition
    found = exact_selection(pruning, condition)
    return found.value if isinstance(found, Answer) else found


Rows = tuple[tuple[object, ...], ...]
Answered = tuple[tuple[ResultColumn, ...], Rows]


class _AnswerBuilder:
    """The selected files for one query."""

    def __init__(self, pruning: FilePruning, counted: CountedFiles, selected: Mask) -> None:
        self._pruning = pruning
        self._counted = counted
        self._selected = selected

    def row(self, metadata_query: MetadataQuery) -> Answered | NoAnswer:
        """Returns one row, for any number of files."""
        columns, values = [], []
        for item in metadata_query.items:
            found = self._item(item)
            if isinstance(found, NoAnswer):
                return found
            columns.append(found[0])
            values.append(found[1])
        return tuple(columns), (tuple(values),)

    def groups(self, metadata_query: MetadataQuery) -> Answered | NoAnswer:
        """Returns one row for each partition value that occurs in some row."""
        column = self._pruning.columns.resolve((metadata_query.group or "",))
        if column is None or not column.is_partition or column.data_type not in _GROUPED or not column.has_byte_order:
            return NoAnswer(
                f"{metadata_query.group} is no partition column of a type whose values the log has as they are"
            )
        counted = self._by_partition(metadata_query.group or "")
        if isinstance(counted, NoAnswer):
            return counted
        kinds = {AggregateKind.VALUE: (_result_column(column), "value"), AggregateKind.COUNT_ROWS: (BIGINT, "rows")}
        if not all(item.kind in kinds for item in metadata_query.items):
            return NoAnswer("the log knows only the number of rows of a group")
        column_kinds = [kinds[item.kind] for item in metadata_query.items]
        cells = [counted[name].to_pylist() for _, name in column_kinds]
        return tuple(shown for shown, _ in column_kinds), tuple(zip(*cells, strict=True))

    def _item(self, item: Aggregate) -> tuple[ResultColumn, object] | NoAnswer:
        """Returns the type and value of one aggregate over all rows."""
        if item.kind is AggregateKind.COUNT_ROWS:
            return _value(BIGINT, count_rows(self._counted, self._selected))
        name = item.column or ""
        column = self._pruning.columns.resolve((name,))
        if column is None or not column.has_byte_order:
            return NoAnswer(f"the log does not order the values of {name} as SQL does")
        if column.is_partition:
            return self._of_partition(item, name, column)
        if item.kind is AggregateKind.COUNT_VALUES:
            return _value(BIGINT, count_values(self._counted, self._selected, column))
        found = extreme(self._counted, self._selected, column, highest=item.kind is AggregateKind.MAX)
        if isinstance(found, NoAnswer):
            return found
        value = found.value.value
        if column.data_type is PrimitiveType.DATE and isinstance(value, int):
            return _result_column(column), _EPOCH + datetime.timedelta(days=value)
        return _result_column(column), value

    def _of_partition(self, item: Aggregate, name: str, column: TableColumn) -> tuple[ResultColumn, object] | NoAnswer:
        """Aggregates a partition column's values, from files with rows."""
        if column.data_type not in _GROUPED and not isinstance(column.data_type, DecimalType):
            return NoAnswer(f"the partition values of {name} are no exact values of its type")
        counted = self._by_partition(name)
        if isinstance(counted, NoAnswer):
            return counted
        values = counted["value"]
        if item.kind is AggregateKind.COUNT_VALUES:
            return BIGINT, pc.sum(counted["rows"].filter(values.is_valid())).as_py() or 0
        found = pc.max(values) if item.kind is AggregateKind.MAX else pc.min(values)
        return _result_column(column), found.as_py()

    def _by_partition(self, name: str) -> pa.Table | NoAnswer:
        known = self._pruning.partition_column((name,))
        if known is None or known.values is None or known.unreadable is not None:
            return NoAnswer(f"some partition values of {name} cannot be read")
        found = count_by_partition(self._counted, self._selected, known)
        return found.value if isinstance(found, Answer) else found


def _result_column(column: TableColumn) -> ResultColumn:
    return ResultColumn(arrow_type(column.data_type), format_sql_type(column.data_type))


def _value(shown: ResultColumn, found: Answer[int] | NoAnswer) -> tuple[ResultColumn, object] | NoAnswer:
    return found if isinstance(found, NoAnswer) else (shown, found.value)
