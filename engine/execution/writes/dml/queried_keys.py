"""File pruning for DELETE and UPDATE by a query's values: files that cannot contain any of them are not read.

For `column IN (query)` with a large query, Spark joins its rows with all table rows. So the query runs first, once, and
its rows are materialized (`engine.execution.writes.materialized_source`); the table's files are pruned with these
values, as in a MERGE (`engine.execution.writes.dml.source_keys`). For a small query Spark broadcasts its rows, and the
scan is pruned while the join runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow.compute as pc

from catalog.conditions import StatementCancelled, StatementTimedOut
from catalog.errors import SqlError
from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.execution.writes.dml.source_keys import FILES_MIN, source_keys
from engine.execution.writes.matched_rows import MatchedRows, find_rows
from engine.execution.writes.materialized_source import materialized_rows
from engine.planning.plans.reads import ReadPlan, TargetRead
from engine.planning.plans.writes import MatchedKey, QueriedKey
from engine.planning.semantics.matched_columns import is_compared
from engine.planning.semantics.query_columns import materialized_scan
from engine.spark.execution_context import ExecutionContext
from engine.tables.scan import Scan

# Total file size. Spark estimates the broadcast size from it, and this is its limit.
_LARGE_BYTES = 10 << 20


@contextmanager
def find_keyed_rows(
    table: BoundTable, places: TargetRead, queried: QueriedKey | None, context: ExecutionContext
) -> Iterator[MatchedRows]:
    """Yields the rows; within the block, files from concurrent commits are searched for matching rows as well."""
    scan = _scan_to_keep(table, queried, context) if queried is not None else None
    if queried is None or scan is None:
        yield find_rows(table, places, context)
        return
    with materialized_rows(table.snapshot.storage, scan, queried.query, context) as materialized:
        read = queried.places.read
        over_materialized = replace(queried.places, read=replace(read, scans=(*read.scans, materialized)))
        given = source_keys(table, (_key(queried, materialized),), materialized, context, table.snapshot.storage)
        yield find_rows(table, over_materialized, context, given=given)


def _scan_to_keep(table: BoundTable, queried: QueriedKey, context: ExecutionContext) -> Scan | None:
    """Returns None if the query's rows need no materialization, or cannot prune files."""
    if table.snapshot.num_files < FILES_MIN or not _is_large(queried.query):
        return None
    try:
        if context.variables_of(queried.query):  # on its own it may read one where the condition reads a column
            return None
        columns = context.columns_of(queried.query)
        scan = materialized_scan(queried.relation, columns, table.snapshot.table_root)
    except (StatementCancelled, StatementTimedOut):
        raise
    except SqlError:  # it refers to the table's row, or is rejected as part of the condition as well
        return None
    if len(columns) != 1 or not is_compared(queried.field, scan.schema.fields[0]):
        return None
    return scan


def _is_large(query: ReadPlan) -> bool:
    return sum(pc.sum(scan.files["size"]).as_py() or 0 for scan in query.scans) > _LARGE_BYTES


def _key(queried: QueriedKey, materialized: Scan) -> MatchedKey:
    (column,) = materialized.schema.fields
    return MatchedKey(
        path=queried.path, of_source=f"{materialized.relation}.{quote(column.name)}", data_type=column.data_type
    )
