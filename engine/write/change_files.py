"""Change files: the rows that a commit deleted, changed and inserted, each with its kind, for the change data feed.

Rows that went are read by place from the files that had them, rows that came from the new files, all in the columns
that the table has from now on.

Protocol: "Change Data Files", "Writer Requirements for AddCDCFile".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from catalog.names import quote
from engine.bind.bound import BoundTable
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.staged_commit import adds_of
from engine.delta.delta_format import delta_config, delta_snapshot
from engine.delta.feed.change_files import CHANGE_FOLDER, CHANGE_TYPE
from engine.delta.snapshot.table_scan import table_scan
from engine.delta.spec.actions import AddCdcFile
from engine.exec.run import Run
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.sql.query.composed import Names
from engine.table.rules import TableRules
from engine.types.schema import PrimitiveType, StructField
from engine.write.marked_rows import only
from engine.write.row_sets import RowsOfFiles
from engine.write.staged_files import new_files

DELETED, INSERTED = "delete", "insert"
BEFORE_UPDATE, AFTER_UPDATE = "update_preimage", "update_postimage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Rows that went, by place, or that came, by their new files; `kind` is their `_change_type`."""

    kind: str
    rows: RowsOfFiles | NewFiles


@contextmanager
def change_files(
    table: BoundTable, rules: TableRules, changes: Sequence[Change], run: Run
) -> Iterator[tuple[AddCdcFile, ...]]:
    """The files of these changes for a table that has a feed, none for others; if the block that commits them fails,
    they go.
    """
    config = delta_config(rules)
    if not changes or not config.is_enabled("changeDataFeed"):
        yield ()
        return
    names, storage = Names(config.schema.names), delta_snapshot(table.snapshot).storage
    columns = ", ".join(map(quote, config.schema.names))
    texts, scans = [], []
    with ExitStack() as reading:
        for change in changes:
            if isinstance(change.rows, NewFiles):
                files = pa.Table.from_batches([adds_of(change.rows.adds)])
            else:
                files = reading.enter_context(only(table, change.rows))
            scan = table_scan(config, storage, files, names.new("scan"), table.label)
            scans.append(replace(scan, row_tracking=None))
            texts.append(f"SELECT {columns}, '{change.kind}' FROM {scan.relation}")
        rows = WritePlan(
            table=table.label,
            config=config,
            target_columns=config.schema.fields,
            extra_columns=(StructField(CHANGE_TYPE, PrimitiveType.STRING),),
        )
        source = ReadPlan(text=" UNION ALL ".join(texts), scans=tuple(scans))
        own = replace(run, parameters=())
        with new_files(source, rows, storage, own, CHANGE_FOLDER) as written:
            yield tuple(
                AddCdcFile(path=add.path, partition_values=add.partition_values, size=add.size) for add in written.adds
            )
