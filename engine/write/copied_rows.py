"""Rows that move to other files and stay the same rows: written as they are, with the ids that they have.

They passed the rules of the table when they came. Where the table tracks its rows, the new files keep the rows' ids and
the versions that last changed them in the columns that the table names for that; a reader would take them for new rows
otherwise.

Protocol: "Row Tracking", "Writer Requirements for Row Tracking".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from catalog.names import fold
from engine.bind.bound import BoundTable
from engine.delta.commit.commit_file import ROW_IDS_PRESERVED
from engine.delta.commit.new_files import NewFiles
from engine.delta.definition.table_config import TableConfig
from engine.delta.delta_format import delta_snapshot
from engine.errors.statement_errors import StatementNotSupported
from engine.errors.table_errors import MalformedLogEntry
from engine.exec.run import Run
from engine.plan.reads.scans import FILE_METADATA, scan_of
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.runtime.parameters import Parameter
from engine.table.operations import CommitDescription
from engine.table.scan import RowTracking, Scan
from engine.types.schema import PrimitiveType, StructField
from engine.write.staged_files import new_files

RELATION = "__scan_0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """SQL: what the table is called, and what follows `FROM` and that; `scans` are what it names besides the table.

    `parameters` are for its markers. `config` is what the new files are made for; None: the table as it is.
    """

    alias: str
    rest: str = ""
    scans: tuple[Scan, ...] = ()
    parameters: Sequence[Parameter] = ()
    config: TableConfig | None = None


@contextmanager
def copied_rows(table: BoundTable, files: pa.Table, copying: Copying, run: Run) -> Iterator[NewFiles]:
    """Rows of these live files of the table, in new ones; if the block that commits them fails, these go."""
    config, alias = copying.config or delta_snapshot(table.snapshot).config, copying.alias
    scan = replace(scan_of(RELATION, table), files=files, choice=None)
    columns = [f"{alias}.*"]
    extra_columns: tuple[StructField, ...] = ()
    if scan.row_tracking is not None:
        if FILE_METADATA in map(fold, config.schema.names):
            raise StatementNotSupported(f"Copying rows of {table.label}, which tracks them and has a column _metadata,")
        columns += [f"{alias}.{FILE_METADATA}.row_id", f"{alias}.{FILE_METADATA}.row_commit_version"]
        extra_columns = _id_columns(table.label, scan.row_tracking)
    text = f"SELECT {', '.join(columns)} FROM {RELATION} AS {alias} {copying.rest}"
    rows = WritePlan(table=table.label, config=config, target_columns=config.schema.fields, extra_columns=extra_columns)
    source = ReadPlan(text=text, scans=(scan, *copying.scans))
    with new_files(
        source, rows, delta_snapshot(table.snapshot).storage, replace(run, parameters=copying.parameters)
    ) as copied:
        yield copied


def preserving(description: CommitDescription, table: BoundTable) -> CommitDescription:
    """Of a commit in which rows only went to other files as copies: it says that the others kept their ids."""
    if not delta_snapshot(table.snapshot).config.is_enabled("rowTracking"):
        return description
    return replace(description, tags={**description.tags, ROW_IDS_PRESERVED: "true"})


def _id_columns(label: str, tracking: RowTracking) -> tuple[StructField, ...]:
    names = (tracking.row_id_column, tracking.row_commit_version_column)
    if None in names:
        raise MalformedLogEntry(label, "row tracking is enabled, and the columns for the ids have no names")
    return tuple(StructField(name, PrimitiveType.LONG) for name in names if name is not None)
