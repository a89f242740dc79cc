"""Rows that leave their files one by one, for a DELETE, UPDATE, MERGE or INSERT … REPLACE.

They were found before (`engine.execution.writes.found_rows`). A file without such a row is not touched, a file of
nothing else is removed. For the others there are two strategies. Copy-on-write: a job copies the rows that are kept
(`engine.execution.writes.copied_rows`); rules for new rows are not for these. Or, where the table marks rows (Delta:
deletion vectors), its format marks these (`engine.execution.writes.marked_rows`); a file whose number of rows is
unknown is copied all the same, since it cannot have marks. New rows, copies, marks and removes are one commit.

Where the table has a change data feed, one more job writes change files (`engine.execution.writes.change_files`), for
the feed would show copies as new rows otherwise. Where whole files are removed, the removed and the new files tell the
same. Readers could derive changes from marks; not all do.

Protocol: "Deletion Vectors", "Add CDC File".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.execution.writes.copied_rows import Copying, copied_rows
from engine.execution.writes.found_rows import FoundRows
from engine.execution.writes.marked_rows import RowsOfFiles, count_rows, marked_rows, without
from engine.planning.plans.reads import TargetRead
from engine.planning.plans.write_plan import Arrangement, TaskPerFile
from engine.planning.reads.target_reads import places_where
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.row_files import FilePredicate, MarkedFiles
from engine.tables.rules import Capability
from engine.tables.transaction import NewFiles, TableTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """`removed` are live files. The rows of theirs that stay are in `copied`, or in `marked`, which are some of these
    files with other marks; None where there are none.
    """

    removed: pa.Table
    copied: NewFiles | None = None
    marked: MarkedFiles | None = None
    num_deleted: int | None = None
    """Rows that go, where they were counted."""
    reads: FilePredicate | None = None
    """Which files hold rows that would have gone too, had they been there; None: any may."""
    changes: NewFiles | None = None
    """The files that say which rows went and came; None where the other files say it."""

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of the removed files are there afterwards."""
        return self.copied is not None or self.marked is not None

    @property
    def removal_metrics(self) -> dict[str, int]:
        """Of the files that go as files; those that get other vectors stay."""
        kept = self.marked.files if self.marked else self.removed.slice(0, 0)
        return {
            "numRemovedFiles": self.removed.num_rows - kept.num_rows,
            "numRemovedBytes": _num_bytes(self.removed) - _num_bytes(kept),
        }

    @property
    def vector_metrics(self) -> dict[str, int]:
        vectors = self.removed["deletion_vector"]
        return {
            "numDeletionVectorsAdded": self.marked.files.num_rows if self.marked else 0,
            "numDeletionVectorsRemoved": len(vectors) - vectors.null_count,
            "numDeletionVectorsUpdated": self.marked.num_updated if self.marked else 0,
        }

    def stage_in(self, transaction: TableTransaction, *, rows_alone: bool = False) -> None:
        """All of it, and what of the table it depends on. `rows_alone`: of files that get other vectors these are the
        rows that go, whatever becomes of the others.
        """
        if self.reads is None:
            transaction.read_whole_table()
        else:
            transaction.depend_on(self.reads, self.removed["path"])
        if rows_alone and self.marked is not None:
            transaction.depend_on_rows_alone(self.marked.rows)
        transaction.stage_removes(self.removed)
        if self.marked is not None:
            transaction.add_marked(self.marked)
        if self.copied is not None:
            transaction.add_files(self.copied)
        if self.changes is not None:
            transaction.add_change_files(self.changes)


def equal_to(table: BoundTable, columns: Iterable[str], new: NewFiles) -> TargetRead:
    """The rows that equal one of the `new` ones in `columns`, where NULL equals nothing."""
    schema = table.snapshot.schema
    names = Names(schema.names)
    old, fresh, relation = names.new("old_rows"), names.new("new_rows"), names.new("scan")
    # Not by the scan of the old files, in which a column that these lack is a constant.
    own = table.snapshot.row_files.scan(table.snapshot.rules, new.files, relation, table.label)
    scan = replace(own, choice=None, row_tracking=None)
    condition = " AND ".join(f"{old}.{quote(name)} = {fresh}.{quote(name)}" for name in columns)
    join = f"AS {old} LEFT SEMI JOIN {relation} AS {fresh} ON {condition}"
    return places_where(table, join, (scan,))


def without_files(table: BoundTable, found: FoundRows) -> Remainder:
    """What takes the files of the rows away, whose other rows are elsewhere."""
    rows = found.all
    removed = table.snapshot.files.take(pa.array(sorted(rows), pa.int64()))
    return Remainder(removed=removed, num_deleted=count_rows(rows), reads=found.reads)


@contextmanager
def without_rows(
    table: BoundTable, found: FoundRows, context: ExecutionContext, marks: Capability = Capability.DELETED_ROW_MARKS
) -> Iterator[Remainder]:
    """What takes the rows away, by marks where the table has `marks`; if the block that commits it fails, the files
    that it wrote go.
    """
    files, rows = table.snapshot.files, found.all
    counts = np.zeros(files.num_rows, np.int64)
    for position, each in rows.items():
        counts[position] = len(each)
    live = live_rows(table, files)
    partly = (counts > 0) & (counts != live)
    marked = partly & (live >= 0) if table.snapshot.rules.has(marks) else np.zeros(files.num_rows, bool)
    remainder = without_files(table, found)
    with ExitStack() as staged:
        copied = {position: rows[position] for position in np.flatnonzero(partly & ~marked).tolist()}
        if copied:
            copying = Copying(
                alias=Names(table.snapshot.schema.names).new("rows"), arrangement=_arrangement(table, files, copied)
            )
            with without(table, copied) as kept:
                remainder = replace(remainder, copied=staged.enter_context(copied_rows(table, kept, copying, context)))
        if marked.any():
            deleted = [rows[position] for position in np.flatnonzero(marked).tolist()]
            vectors = marked_rows(table, files.filter(pa.array(marked)), deleted, context)
            remainder = replace(remainder, marked=staged.enter_context(vectors))
        yield remainder


def _arrangement(table: BoundTable, files: pa.Table, copied: RowsOfFiles) -> Arrangement | None:
    """A file is written for each task, and so about one for each file: rows that stay in their partitions need no
    shuffle. Not so where the table's settings say how large its files are.
    """
    rules = table.snapshot.rules
    if rules.target_file_size is not None or rules.optimizes_writes:
        return None
    stay = table.snapshot.row_files.keep_partitions(files.take(pa.array(sorted(copied), pa.int64())))
    return TaskPerFile() if stay else None


def counting_rows(table: BoundTable, whole: Remainder) -> Remainder:
    """Of whole files that go, with the number of their rows where the format knows it."""
    live = live_rows(table, whole.removed)
    return replace(whole, num_deleted=int(live.sum())) if (live >= 0).all() else whole


def removal_tells(remainder: Remainder) -> bool:
    """Whether every reader of a change data feed takes from the removes of whole files which rows went: delta-rs takes
    rows for deleted that a file's vector has hidden before.
    """
    removed = remainder.removed
    return not remainder.keeps_rows and bool(removed["deletion_vector"].null_count == removed.num_rows)


def live_rows(table: BoundTable, files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many rows each file of the table has that are not deleted; -1 where its format does not know."""
    return np.asarray(pc.fill_null(table.snapshot.row_files.live_rows(files), -1), np.int64)


def _num_bytes(files: pa.Table) -> int:
    return pc.sum(files["size"]).as_py() or 0
