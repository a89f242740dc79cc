"""Removes individual rows from their files, for a DELETE, UPDATE, MERGE or INSERT … REPLACE.

The rows were found before (`engine.execution.writes.matched_rows`). Untouched files stay, and a file whose rows are all
removed is removed. For the others there are two strategies. Copy-on-write: a job copies the remaining rows
(`engine.execution.writes.copied_rows`); rules for new rows do not apply to them. Merge-on-read: if the table supports
deletion vectors, its format writes them (`engine.execution.writes.deleted_rows`); a file with an unknown row count is
copied all the same, because it cannot have one. New rows, copies, deletion vectors and removes are one commit.

If the table has a change data feed, an additional job writes change files (`engine.execution.writes.change_files`);
otherwise the feed would show copies as new rows. If only whole files are removed, the removed and the new files contain
the same information. Readers could derive changes from deletion vectors; not all do.

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
from engine.execution.writes.deleted_rows import RowsOfFiles, count_rows, with_deleted_rows, without
from engine.execution.writes.matched_rows import MatchedRows
from engine.planning.plans.reads import TargetRead
from engine.planning.plans.write_plan import Arrangement, TaskPerFile
from engine.planning.reads.target_reads import places_where
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.tables.config import Capability
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows
from engine.tables.transaction import NewFiles, TableTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingRows:
    """The removed live files and their remaining rows, which are in `copied`, or in `updated`: some of these files with
    new deletion vectors; None without remaining rows.
    """

    removed: pa.Table
    copied: NewFiles | None = None
    updated: FilesWithDeletedRows | None = None
    # The number of deleted rows, if they were counted.
    num_deleted: int | None = None
    # Detects files with rows that would have been deleted too; None: any file may.
    reads: FilePredicate | None = None
    # The change files; None if the other files contain the changes.
    changes: NewFiles | None = None

    @property
    def keeps_rows(self) -> bool:
        """Returns whether rows from the removed files remain."""
        return self.copied is not None or self.updated is not None

    @property
    def removal_metrics(self) -> dict[str, int]:
        """Returns metrics for removed files; files that only get new deletion vectors are not counted."""
        updated = self.updated.files if self.updated else self.removed.slice(0, 0)
        return {
            "numRemovedFiles": self.removed.num_rows - updated.num_rows,
            "numRemovedBytes": _num_bytes(self.removed) - _num_bytes(updated),
        }

    @property
    def vector_metrics(self) -> dict[str, int]:
        """Returns the counts of deletion vectors under the names of Delta's operation metrics."""
        vectors = self.removed["deletion_vector"]
        return {
            "numDeletionVectorsAdded": self.updated.files.num_rows if self.updated else 0,
            "numDeletionVectorsRemoved": len(vectors) - vectors.null_count,
            "numDeletionVectorsUpdated": self.updated.num_updated if self.updated else 0,
        }

    def stage_in(self, transaction: TableTransaction, *, rows_alone: bool = False) -> None:
        """Stages the actions, and the read set. `rows_alone`: for files with new deletion vectors only the deleted rows
        are read, independent of other rows.
        """
        if self.reads is None:
            transaction.read_whole_table()
        else:
            transaction.depend_on(self.reads, self.removed["path"])
        if rows_alone and self.updated is not None:
            transaction.depend_on_rows_alone(self.updated.rows)
        transaction.stage_removes(self.removed)
        if self.updated is not None:
            transaction.add_deleted_rows(self.updated)
        if self.copied is not None:
            transaction.add_files(self.copied)
        if self.changes is not None:
            transaction.add_change_files(self.changes)


def equal_to(table: BoundTable, columns: Iterable[str], new: NewFiles) -> TargetRead:
    """Reads the rows that equal a `new` row in `columns`; NULL equals nothing."""
    schema = table.snapshot.schema
    names = Names(schema.names)
    old, fresh, relation = names.new("old_rows"), names.new("new_rows"), names.new("scan")
    # Not the old files' scan, in which a column that they lack is a constant.
    own = table.snapshot.row_files.scan(table.snapshot.table_config, new.files, relation, table.label)
    scan = replace(own, pruning=None, row_tracking=None)
    # `=` rather than `<=>`: REPLACE USING never matches NULL.
    condition = " AND ".join(f"{old}.{quote(name)} = {fresh}.{quote(name)}" for name in columns)
    join = f"AS {old} LEFT SEMI JOIN {relation} AS {fresh} ON {condition}"
    return places_where(table, join, (scan,))


def without_files(table: BoundTable, found: MatchedRows) -> RemainingRows:
    """Removes the files with these rows; their other rows are stored elsewhere."""
    rows = found.all
    removed = table.snapshot.files.take(pa.array(sorted(rows), pa.int64()))
    return RemainingRows(removed=removed, num_deleted=count_rows(rows), reads=found.reads)


@contextmanager
def without_rows(
    table: BoundTable,
    found: MatchedRows,
    context: ExecutionContext,
    capability: Capability = Capability.VECTORS_ON_DELETE,
) -> Iterator[RemainingRows]:
    """Removes the rows, by deletion vectors if the table has the capability `capability`; if the block that commits it
    fails, the written files are removed.
    """
    files, rows = table.snapshot.files, found.all
    counts = np.zeros(files.num_rows, np.int64)
    for position, each in rows.items():
        counts[position] = len(each)
    live = live_rows(table, files)
    # A file whose live rows are all deleted is removed. A deletion vector over all rows
    # would keep it in each listing.
    partly = (counts > 0) & (counts != live)
    # "Writer Requirement for Deletion Vectors": a file with a vector must have
    # `numRecords`.
    is_updated = partly & (live >= 0) if table.snapshot.table_config.has(capability) else np.zeros(files.num_rows, bool)
    remaining = without_files(table, found)
    with ExitStack() as staged:
        copied = {position: rows[position] for position in np.flatnonzero(partly & ~is_updated).tolist()}
        if copied:
            copying = Copying(
                alias=Names(table.snapshot.schema.names).new("rows"), arrangement=_arrangement(table, files, copied)
            )
            with without(table, copied) as undeleted:
                remaining = replace(
                    remaining, copied=staged.enter_context(copied_rows(table, undeleted, copying, context))
                )
        if is_updated.any():
            deleted = [rows[position] for position in np.flatnonzero(is_updated).tolist()]
            vectors = with_deleted_rows(table, files.filter(pa.array(is_updated)), deleted, context)
            remaining = replace(remaining, updated=staged.enter_context(vectors))
        yield remaining


def _arrangement(table: BoundTable, files: pa.Table, copied: RowsOfFiles) -> Arrangement | None:
    """Returns the arrangement for copies. Each task writes a file, so about one per input file: rows that stay in their
    partitions need no shuffle. This does not apply if the table's settings define the file size.
    """
    table_config = table.snapshot.table_config
    if table_config.target_file_size is not None or table_config.optimizes_writes:
        return None
    stay = table.snapshot.row_files.keep_partitions(files.take(pa.array(sorted(copied), pa.int64())))
    return TaskPerFile() if stay else None


def counting_rows(table: BoundTable, whole: RemainingRows) -> RemainingRows:
    """Adds the row count for whole removed files, if the format has it."""
    live = live_rows(table, whole.removed)
    return replace(whole, num_deleted=int(live.sum())) if (live >= 0).all() else whole


def removal_tells(remaining: RemainingRows) -> bool:
    """Returns whether each change data feed reader derives the deleted rows from removed files alone: delta-rs reports
    rows as deleted that the file's deletion vector had already removed.
    """
    removed = remaining.removed
    return not remaining.keeps_rows and bool(removed["deletion_vector"].null_count == removed.num_rows)


def live_rows(table: BoundTable, files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Returns each file's number of live rows; -1 if its format does not have it."""
    return np.asarray(pc.fill_null(table.snapshot.row_files.live_rows(files), -1), np.int64)


def _num_bytes(files: pa.Table) -> int:
    return pc.sum(files["size"]).as_py() or 0
