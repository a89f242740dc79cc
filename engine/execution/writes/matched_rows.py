"""Matched rows that a statement deletes or changes: found once, identified by position, and never searched again.

The rows come from an ordinary query over the table, whose scan has all files in the snapshot. Files are pruned by
partition values and statistics while Spark plans it, and by a join's keys while it runs. It returns bitmaps for 32768
rows each, so that the result never exceeds one bit for each row in the files; `bitmap_bit_position` and
`bitmap_bucket_number` count from 1. All later steps (copies, deletion vectors, change files, new values) read rows by
position: a condition is evaluated once, may have subqueries, and may be nondeterministic.

The query's scan numbers the files in the constant that a table with row tracking uses for its row ids, so that
`_metadata.base_row_id` is the file's position in the snapshot, and no column is added that `*` would show.

A commit's read set contains the rows that the query would have found in files that were added concurrently. The filters
pushed into the scan, and these files' statistics, exclude most files; for the others the same query is run again, over
these files alone. So a join depends on the rows that have a match, independent of the keys that Spark pushed down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ChangedRowsDiffer, StatementCancelled, StatementTimedOut
from catalog.errors import SqlError
from engine.binding.bound import BoundTable
from engine.execution.writes.deleted_rows import RowSet, RowsOfFiles, count_rows
from engine.planning.plans.reads import ReadPlan, TargetRead
from engine.planning.reads.target_reads import with_numbers
from engine.pruning.estimates import Estimate
from engine.pruning.predicates import ALWAYS, Or, Predicate, conjunction, conjuncts
from engine.runtime.request import with_changes
from engine.spark.execution_context import ExecutionContext
from engine.tables.row_files import FilePredicate
from engine.tables.scan import PrunedFiles, Pruning, TableRead
from engine.types.arrow_types import Array, RecordBatch

_MATCHING = "matching"
# Maximum number of winning commits for which the query is run again; beyond it, retrying the statement is as cheap.
_REQUESTS_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedRows:
    """Matched rows. `kinds` are the rows by action, as the query numbers it; `reads` is the read set: files that
    contain matching rows. `files` are the positions of the searched files.
    """

    kinds: Mapping[int, RowsOfFiles]
    reads: FilePredicate
    # How many times the query returned rows for each kind: more than the number of rows if it returned one twice.
    times: Mapping[int, int]
    # The files that were read; None without any.
    scanned: TableRead | None
    files: pa.Array

    def of(self, *kinds: int) -> RowsOfFiles:
        """Returns the rows with these kinds."""
        together: dict[int, RowSet] = {}
        for kind in kinds:
            for position, rows in self.kinds.get(kind, {}).items():
                together[position] = together[position] | rows if position in together else rows
        return together

    @property
    def all(self) -> RowsOfFiles:
        """Returns the matched rows of all actions by file."""
        return self.of(*self.kinds)


def find_rows(
    table: BoundTable, places: TargetRead, context: ExecutionContext, *, once: bool = True, given: Predicate = ALWAYS
) -> MatchedRows:
    """Runs a query that `engine.planning.reads.target_reads` composed. `given` is true for all table rows that it can
    return. Raises `ChangedRowsDiffer` if it returns a position twice although each must occur `once`.
    """
    watched = _Watched.of(narrow_target(places, given))
    kinds: dict[int, dict[int, RowSet]] = {}
    times: dict[int, int] = {}
    for file, kind, number, bitmap, count in answered_places(watched.read, context, _MATCHING):
        kinds.setdefault(kind, {}).setdefault(file, RowSet()).add(number, bitmap)
        times[kind] = times.get(kind, 0) + count
    # Not evaluated now: the read set is tested only if another commit wins.
    reads = _LaterRows(watched.file_predicate(table, given), table, places, context)
    found = MatchedRows(
        kinds=kinds,
        reads=reads.are_in,
        times=times,
        scanned=watched.read_last,
        files=watched.positions(table),
    )
    # Bitmaps cannot show a repeated position, so the counts are compared. A repetition
    # means that the query returned a row twice.
    if once and sum(times.values()) != count_rows(found.all):
        raise ChangedRowsDiffer(table.label, sum(times.values()), count_rows(found.all))
    return found


def narrow_target(read: TargetRead, given: Predicate) -> TargetRead:
    """Removes the target files that contain no row for which `given` is true."""
    pruning = read.scan.pruning
    if given == ALWAYS or pruning is None:
        return read
    return read.over(replace(read.scan, pruning=_Narrowed(pruning, given)))


@dataclass(frozen=True, slots=True)
class _Narrowed:
    pruning: Pruning
    given: Predicate

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        return self.pruning.choose(self._with_given(predicate), zone)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        return self.pruning.estimate(self._with_given(predicate), zone, columns)

    def _with_given(self, predicate: Predicate) -> Predicate:
        return conjunction((*conjuncts(predicate), self.given))


def answered_places(
    read: ReadPlan, context: ExecutionContext, purpose: str
) -> Iterator[tuple[int, int, int, bytes, int]]:
    """Yields the rows of a `bitmaps` query: file, kind, bitmap number, bitmap, count. `purpose` distinguishes it from
    the statement's other queries.
    """
    request = with_changes(context.request, statement_id=f"{context.request.statement_id}-{purpose}")
    result = context.executor.run_query(read, request, context.parameters)
    try:
        for batch in result.batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    finally:
        result.close()


@dataclass(slots=True)
class _LaterRows:
    """Detects whether concurrently added files contain rows that the query would have found."""

    may_hold: FilePredicate
    table: BoundTable
    places: TargetRead
    context: ExecutionContext
    num_requests: int = 0

    def are_in(self, files: RecordBatch) -> Array:
        """Returns a mask over a commit's files; true for all that may contain some if one does, because one is a
        conflict.
        """
        mask = pc.fill_null(self.may_hold(files), True)
        if not pc.any(mask).as_py() or self.num_requests == _REQUESTS_MAX:
            return mask
        self.num_requests += 1
        return mask if self._holds(files.filter(mask)) else pa.repeat(False, len(mask))

    def _holds(self, files: RecordBatch) -> bool:
        try:
            # The winning commit's files are read although they belong to no snapshot of
            # ours: serializability concerns their rows.
            added = self.table.snapshot.row_files.readable(pa.Table.from_batches([files]))
            read = with_numbers(self.places.over(replace(self.places.scan, files=added, pruning=None)))
            return any(True for _ in answered_places(read.read, self.context, _MATCHING))
        except (StatementCancelled, StatementTimedOut):
            raise
        except SqlError:  # a file that was removed again, or that cannot be read
            return True


@dataclass(frozen=True, slots=True)
class _Watched:
    """A read whose target scan numbers the files, and records the conditions under which they were requested."""

    read: ReadPlan
    pruning: _RecordingPruning | None
    is_once: bool

    @classmethod
    def of(cls, places: TargetRead) -> _Watched:
        pruning = _RecordingPruning(places.scan.pruning) if places.scan.pruning is not None else None
        read = with_numbers(places)
        return cls(read.over(replace(read.scan, pruning=pruning)).read, pruning, places.is_once)

    def positions(self, table: BoundTable) -> pa.Array:
        """Returns the positions of the files that were read, ascending; across all scans for a table with several
        scans.
        """
        every = np.arange(table.snapshot.num_files)
        pruned = [every if rows is None else np.asarray(rows) for rows in self.pruning.pruned] if self.pruning else []
        # If Spark plans the only scan several times, each planning's condition holds, so
        # their intersection is sound. With several scans of the target a file counts if one
        # of them read it.
        together = np.intersect1d if self.is_once else np.union1d
        return pa.array(reduce(together, pruned) if pruned else every)

    @property
    def read_last(self) -> TableRead | None:
        return self.pruning.read if self.pruning is not None else None

    def file_predicate(self, table: BoundTable, given: Predicate) -> FilePredicate:
        """Returns the read set. Spark may plan a scan more than once. If the text contains one scan of the target, each
        condition holds for all relevant rows; otherwise a condition may apply to only one occurrence.
        """
        predicates = tuple(self.pruning.predicates) if self.pruning is not None else ()
        joined = conjunction(predicates) if self.is_once or len(predicates) < 2 else Or(predicates)
        zone = self.pruning.zone if self.pruning is not None else None
        return table.snapshot.row_files.predicate(conjunction((*conjuncts(joined), *conjuncts(given))), zone)


@dataclass(slots=True)
class _RecordingPruning:
    pruning: Pruning
    predicates: list[Predicate] = field(default_factory=list)
    pruned: list[pa.Array | None] = field(default_factory=list)
    zone: tzinfo | None = None
    read: TableRead | None = None

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        files = self.pruning.choose(predicate, zone)
        self.predicates.append(predicate)
        self.pruned.append(files.rows)
        self.zone = zone
        self.read = files.read
        return files

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Estimates do not read anything."""
        return self.pruning.estimate(predicate, zone, columns)
