"""Copied rows: rows that move to other files unchanged, with their row ids.

They already satisfied the table's rules when they were written. For a table with row tracking, the new files store the
row ids and the versions that last changed the rows in the columns that the table names for this; otherwise a reader
would take them for new rows.

Protocol: "Row Tracking", "Writer Requirements for Row Tracking".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from engine.binding.bound import BoundTable
from engine.execution.writes.staged_files import new_files
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import Arrangement, WritePlan
from engine.planning.reads.scans import row_id_columns, scan_of
from engine.runtime.parameters import Parameter
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.config import TableConfig
from engine.tables.scan import Scan
from engine.tables.transaction import NewFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """A copy query: the table's alias, and the SQL after it in `FROM`; `scans` are the scans that it names besides the
    table.

    `parameters` are for its markers. `config` is the definition for the new files; None: the table's. `arrangement`
    determines the rows in each file; None: the table's settings do.
    """

    alias: str
    rest: str = ""
    scans: tuple[Scan, ...] = ()
    parameters: Sequence[Parameter] = ()
    config: TableConfig | None = None
    arrangement: Arrangement | None = None


@contextmanager
def copied_rows(table: BoundTable, files: pa.Table, copying: Copying, context: ExecutionContext) -> Iterator[NewFiles]:
    """Copies rows from these live files to new files; if the block that commits them fails, they are removed."""
    snapshot = table.snapshot
    config = copying.config or snapshot.table_config
    alias = copying.alias
    names = Names((alias, copying.rest, *snapshot.schema.names, *(scan.relation for scan in copying.scans)))
    scan = scan_of_files(names.new("scan"), table, files, names.new("place"))
    columns, rows = copies_of(table.label, scan, alias, config)
    rows = replace(rows, arrangement=copying.arrangement)
    text = f"SELECT {columns} FROM {scan.relation} AS {alias} {copying.rest}"
    source = ReadPlan(text=text, scans=(scan, *copying.scans))
    with new_files(table, source, rows, replace(context, parameters=copying.parameters)) as copied:
        yield copied


def scan_of_files(relation: str, table: BoundTable, files: pa.Table, place: str) -> Scan:
    """Returns a scan over some of the snapshot's files; `place` is its hidden column."""
    return replace(
        scan_of(relation, table), files=table.snapshot.row_files.readable(files), pruning=None, metadata=place
    )


def copies_of(label: str, scan: Scan, alias: str, config: TableConfig) -> tuple[str, WritePlan]:
    """Returns SQL for a copied row's columns from `scan`, with the alias `alias`, and the write plan for these rows.

    The scan's hidden column has a name that no column has.
    """
    columns = [f"{alias}.*"]
    ids = row_id_columns(label, scan.row_tracking)
    if ids:
        # Selected from `_metadata`, where the reader computes them from the materialized
        # column or from the base id and the row's position.
        columns += [f"{scan.metadata}.row_id", f"{scan.metadata}.row_commit_version"]
    rows = WritePlan(table=label, config=config, target_columns=config.schema.fields, extra_columns=ids)
    return ", ".join(columns), rows
