"""Which rows of a table a statement deletes or changes: found once, by their places, and never searched again.

The rows come from an ordinary query over the table, whose scan has all files of the snapshot. Files are left out by
partition values and statistics while Spark plans it, and by the keys of a join while it runs. It answers bitmaps of
32768 rows each, so that the answer is never larger than a bit for each row of the files; `bitmap_bit_position` and
`bitmap_bucket_number` count from 1. All that follows (copies, deletion vectors, change files, new values) reads rows by
place: a condition is evaluated once, may have subqueries, and need not give the same value twice.

The scan of such a query numbers the files in the constant that a table with row tracking has for its row ids, so that
`_metadata.base_row_id` is the position of a row's file in the snapshot, and no column is added that `*` would show.

A commit depends on the rows that the query would have found in files that others added since. By what Spark pushed into
the scan, and the statistics of these files, most of them are ruled out; of the others the same query is asked again,
over these files alone. So a join depends on the rows that have a match, whatever Spark knew of the keys.
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
from engine.execution.writes.marked_rows import RowSet, RowsOfFiles, count_rows
from engine.planning.plans.reads import ReadPlan, TargetRead
from engine.planning.reads.target_reads import with_numbers
from engine.pruning.estimates import Estimate
from engine.pruning.predicates import ALWAYS, Or, Predicate, conjunction, conjuncts
from engine.spark.execution_context import ExecutionContext
from engine.tables.row_files import FilePredicate
from engine.tables.scan import Choice, ChosenFiles, TableRead
from engine.types.arrow_types import Array, RecordBatch

_MATCHING = "matching"
_QUESTIONS_MAX = 50
"""Commits of others about which the query is asked again; about more of them it is as good to run the statement again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """`kinds` are the rows by what happens to them, as the query numbers it; `reads` is what they depend on: files that
    hold such rows. `files` are the positions of the files in which they were looked for.
    """

    kinds: Mapping[int, RowsOfFiles]
    reads: FilePredicate
    times: Mapping[int, int]
    """How often the query answered rows of a kind: more often than there are such rows where it answered one twice."""
    scanned: TableRead | None
    """The files that were looked at; None where none was."""
    files: pa.Array

    def of(self, *kinds: int) -> RowsOfFiles:
        """The rows of these kinds."""
        together: dict[int, RowSet] = {}
        for kind in kinds:
            for position, rows in self.kinds.get(kind, {}).items():
                together[position] = together[position] | rows if position in together else rows
        return together

    @property
    def all(self) -> RowsOfFiles:
        return self.of(*self.kinds)


def find_rows(
    table: BoundTable, places: TargetRead, context: ExecutionContext, *, once: bool = True, given: Predicate = ALWAYS
) -> FoundRows:
    """Runs a query that `engine.planning.reads.target_reads` composed. `given` is true of all rows of the table that it
    can answer. Raises `ChangedRowsDiffer` where it answers a place twice and should answer each `once`.
    """
    watched = _Watched.of(narrowed(places, given))
    kinds: dict[int, dict[int, RowSet]] = {}
    times: dict[int, int] = {}
    for file, kind, number, bitmap, count in answered_places(watched.read, context, _MATCHING):
        kinds.setdefault(kind, {}).setdefault(file, RowSet()).add(number, bitmap)
        times[kind] = times.get(kind, 0) + count
    reads = _LaterRows(watched.file_predicate(table, given), table, places, context)
    found = FoundRows(
        kinds=kinds,
        reads=reads.are_in,
        times=times,
        scanned=watched.read_last,
        files=watched.positions(table),
    )
    if once and sum(times.values()) != count_rows(found.all):
        raise ChangedRowsDiffer(table.label, sum(times.values()), count_rows(found.all))
    return found


def narrowed(read: TargetRead, given: Predicate) -> TargetRead:
    """Without the files of the target that have no row for which `given` is true."""
    choice = read.scan.choice
    if given == ALWAYS or choice is None:
        return read
    return read.over(replace(read.scan, choice=_Narrowed(choice, given)))


@dataclass(frozen=True, slots=True)
class _Narrowed:
    choice: Choice
    given: Predicate

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        return self.choice.choose(self._with_given(predicate), zone)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        return self.choice.estimate(self._with_given(predicate), zone, columns)

    def _with_given(self, predicate: Predicate) -> Predicate:
        return conjunction((*conjuncts(predicate), self.given))


def answered_places(
    read: ReadPlan, context: ExecutionContext, purpose: str
) -> Iterator[tuple[int, int, int, bytes, int]]:
    """What a query of `bitmaps` answers: file, kind, number of the bitmap, bitmap, how often. `purpose` tells it from
    other queries of the statement.
    """
    request = replace(context.request, statement_id=f"{context.request.statement_id}-{purpose}")
    result = context.executor.run_query(read, request, context.parameters)
    try:
        for batch in result.batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    finally:
        result.close()


@dataclass(slots=True)
class _LaterRows:
    """Whether files that others added since hold rows that the query would have found."""

    may_hold: FilePredicate
    table: BoundTable
    places: TargetRead
    context: ExecutionContext
    questions: int = 0

    def are_in(self, files: RecordBatch) -> Array:
        """A mask over files of a commit; true for all that may hold some where one does, since one is a conflict."""
        mask = pc.fill_null(self.may_hold(files), True)
        if not pc.any(mask).as_py() or self.questions == _QUESTIONS_MAX:
            return mask
        self.questions += 1
        return mask if self._holds(files.filter(mask)) else pa.repeat(False, len(mask))

    def _holds(self, files: RecordBatch) -> bool:
        try:
            added = self.table.snapshot.row_files.readable(pa.Table.from_batches([files]))
            read = with_numbers(self.places.over(replace(self.places.scan, files=added, choice=None)))
            return any(True for _ in answered_places(read.read, self.context, _MATCHING))
        except (StatementCancelled, StatementTimedOut):
            raise
        except SqlError:  # a file that went again, or that cannot be read
            return True


@dataclass(frozen=True, slots=True)
class _Watched:
    """A read whose scan of the target numbers the files, and remembers under which conditions they were asked for."""

    read: ReadPlan
    choice: _WatchedChoice | None
    is_once: bool

    @classmethod
    def of(cls, places: TargetRead) -> _Watched:
        choice = _WatchedChoice(places.scan.choice) if places.scan.choice is not None else None
        read = with_numbers(places)
        return cls(read.over(replace(read.scan, choice=choice)).read, choice, places.is_once)

    def positions(self, table: BoundTable) -> pa.Array:
        """Of the files that were read, ascending; of a table that is scanned more than once those of all scans."""
        every = np.arange(table.snapshot.num_files)
        chosen = [every if rows is None else np.asarray(rows) for rows in self.choice.chosen] if self.choice else []
        together = np.intersect1d if self.is_once else np.union1d
        return pa.array(reduce(together, chosen) if chosen else every)

    @property
    def read_last(self) -> TableRead | None:
        return self.choice.read if self.choice is not None else None

    def file_predicate(self, table: BoundTable, given: Predicate) -> FilePredicate:
        """Spark may plan a scan more than once. If the text makes one scan of the target, each condition holds for all
        rows that count; else a condition may be of one place among several.
        """
        asked = tuple(self.choice.asked) if self.choice is not None else ()
        joined = conjunction(asked) if self.is_once or len(asked) < 2 else Or(asked)
        zone = self.choice.zone if self.choice is not None else None
        return table.snapshot.row_files.predicate(conjunction((*conjuncts(joined), *conjuncts(given))), zone)


@dataclass(slots=True)
class _WatchedChoice:
    choice: Choice
    asked: list[Predicate] = field(default_factory=list)
    chosen: list[pa.Array | None] = field(default_factory=list)
    zone: tzinfo | None = None
    read: TableRead | None = None

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        files = self.choice.choose(predicate, zone)
        self.asked.append(predicate)
        self.chosen.append(files.rows)
        self.zone = zone
        self.read = files.read
        return files

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Nothing is read for it."""
        return self.choice.estimate(predicate, zone, columns)
