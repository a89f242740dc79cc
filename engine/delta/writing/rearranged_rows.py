"""Bins of files become new files: one job of Spark for many bins, without a shuffle where bins are large.

Merging, each bin is a scan of its own whose tasks are coalesced into one, and the union of these is one job with a task
for each file to be. Many small bins of different partitions are one scan, distributed by partition. Sorting, a bin is
range-partitioned along the curve (`SpaceFillingCurve`) into as many tasks as it fills files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from engine.bind.bound import BoundTable
from engine.delta.commit.new_files import NewFiles
from engine.delta.delta_format import delta_files
from engine.exec.run import Run
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import AlongCurve, Arrangement, FilePerPartition, TaskPerFile
from engine.sql.query.composed import Names
from engine.write.copied_rows import copies_of, scan_of_files
from engine.write.staged_files import new_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrouping:
    """The files of `bins`, of `FILES_SCHEMA`, and how their rows become files. What comes has `tags`."""

    bins: Sequence[pa.Table]
    arrangement: Arrangement
    tags: Mapping[str, str] | None = None
    clustering_provider: str | None = None


@contextmanager
def rearranged_rows(table: BoundTable, regrouping: Regrouping, run: Run) -> Iterator[NewFiles]:
    """The rows in new files; if the block that commits them fails, these go."""
    names = Names(table.snapshot.schema.names)
    alias, place = names.new("rows"), names.new("place")
    parts = _parts(regrouping)
    scans = tuple(scan_of_files(names.new("scan"), table, files, place) for files, _ in parts)
    columns, rows = copies_of(table.label, scans[0], alias, table.snapshot.rules)
    text = " UNION ALL ".join(
        f"SELECT {hint} {columns} FROM {scan.relation} AS {alias}" for scan, (_, hint) in zip(scans, parts, strict=True)
    )
    source = ReadPlan(text=text, scans=scans)
    rows = replace(rows, arrangement=regrouping.arrangement)
    with new_files(table, source, rows, replace(run, parameters=())) as written:
        new = delta_files(written)
        adds = (
            replace(add, data_change=False, tags=regrouping.tags, clustering_provider=regrouping.clustering_provider)
            for add in new.adds
        )
        yield replace(new, adds=tuple(adds))


def _parts(regrouping: Regrouping) -> list[tuple[pa.Table, str]]:
    """The files of each scan, and a hint for it.

    Spark makes one task of a union whose parts all have one task. A part that has none, a scan without files, keeps it
    from that.
    """
    bins = regrouping.bins
    match regrouping.arrangement:
        case TaskPerFile():
            parts = [(files, "/*+ COALESCE(1) */") for files in bins]
            return [*parts, (bins[0].slice(0, 0), "")] if len(bins) > 1 else parts
        case FilePerPartition() | AlongCurve():
            return [(pa.concat_tables(bins), "")]
