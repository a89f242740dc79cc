"""Compaction and clustering: bins of files become new files, in one Spark job for many bins, without a shuffle if bins
are large.

For compaction, each bin is a separate scan whose tasks are coalesced into one, and their union is one job with one task
per output file. Many small bins from different partitions are one scan, distributed by partition. For clustering, a bin
is range-partitioned along the curve (`SpaceFillingCurve`) into as many tasks as it fills files, or by an order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

import pyarrow as pa

from engine.binding.bound import BoundTable
from engine.execution.writes.copied_rows import copies_of, scan_of_files
from engine.execution.writes.staged_files import new_files
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import (
    AlongCurve,
    Arrangement,
    FilePerPartition,
    InOrder,
    LiteralRows,
    TaskPerFile,
)
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.transaction import NewFiles


@contextmanager
def compacted_rows(
    table: BoundTable, bins: Sequence[pa.Table], arrangement: Arrangement, context: ExecutionContext
) -> Iterator[NewFiles]:
    """Rewrites rows of live files to new files; if the block that commits them fails, they are removed."""
    names = Names(table.snapshot.schema.names)
    alias, place = names.new("rows"), names.new("place")
    parts = _parts(bins, arrangement)
    scans = tuple(scan_of_files(names.new("scan"), table, files, place) for files, _ in parts)
    columns, rows = copies_of(table.label, scans[0], alias, table.snapshot.table_config)
    text = " UNION ALL ".join(
        f"SELECT {hint} {columns} FROM {scan.relation} AS {alias}" for scan, (_, hint) in zip(scans, parts, strict=True)
    )
    source = ReadPlan(text=text, scans=scans)
    with new_files(table, source, replace(rows, arrangement=arrangement), replace(context, parameters=())) as written:
        yield written


def _parts(bins: Sequence[pa.Table], arrangement: Arrangement) -> list[tuple[pa.Table, str]]:
    """Returns each scan's files, and a hint for it.

    Spark creates one task for each part in a union only if all parts have one task. A part without tasks, a scan
    without files, prevents this.
    """
    match arrangement:
        case TaskPerFile():
            parts = [(files, "/*+ COALESCE(1) */") for files in bins]
            return [*parts, (bins[0].slice(0, 0), "")] if len(bins) > 1 else parts
        case FilePerPartition() | AlongCurve() | InOrder() | LiteralRows():
            return [(pa.concat_tables(bins), "")]
        case _:
            assert_never(arrangement)
