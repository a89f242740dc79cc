"""Change files for the change data feed: the deleted, updated and inserted rows in a commit, with their change types.

Deleted rows are read by position from their former files, new rows from the new files, all with the table's new
columns.

Protocol: "Change Data Files", "Writer Requirements for AddCDCFile".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.execution.writes.deleted_rows import RowsOfFiles, only
from engine.execution.writes.staged_files import new_files
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.changes import CHANGE_FOLDER, CHANGE_TYPE
from engine.tables.config import Capability, TableConfig
from engine.tables.transaction import NewFiles
from engine.types.schema import PrimitiveType, StructField

DELETED, INSERTED = "delete", "insert"
BEFORE_UPDATE, AFTER_UPDATE = "update_preimage", "update_postimage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Deleted rows, by position, or new rows, by their files; `kind` is their `_change_type`."""

    kind: str
    rows: RowsOfFiles | NewFiles


@contextmanager
def change_files(
    table: BoundTable, table_config: TableConfig, changes: Sequence[Change], context: ExecutionContext
) -> Iterator[NewFiles | None]:
    """Writes the change files for a table with a change data feed, none for others; if the block that commits them
    fails, they are removed. `table_config` are the table's after the commit.
    """
    if not changes or not table_config.has(Capability.CHANGE_FEED):
        yield None
        return
    names = Names(table_config.schema.names)
    own = table.snapshot.row_files
    columns = ", ".join(map(quote, table_config.schema.names))
    texts, scans = [], []
    with ExitStack() as reading:
        for change in changes:
            if isinstance(change.rows, Mapping):
                files = reading.enter_context(only(table, change.rows))
            else:
                files = change.rows.files
            scan = own.scan(table_config, files, names.new("scan"), table.label)
            scans.append(replace(scan, row_tracking=None))
            texts.append(f"SELECT {columns}, '{change.kind}' FROM {scan.relation}")
        rows = WritePlan(
            table=table.label,
            config=table_config,
            target_columns=table_config.schema.fields,
            extra_columns=(StructField(CHANGE_TYPE, PrimitiveType.STRING),),
        )
        source = ReadPlan(text=" UNION ALL ".join(texts), scans=tuple(scans))
        with new_files(table, source, rows, replace(context, parameters=()), CHANGE_FOLDER) as written:
            yield written
