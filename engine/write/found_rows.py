"""Which rows of a table a statement deletes or changes: found once, by their places, and never searched again.

The rows come from an ordinary query over the table, whose scan has all files of the snapshot. Files are left out by
partition values and statistics while Spark plans it, and by the keys of a join while it runs. It answers bitmaps of
32768 rows each, so that the answer is never larger than a bit for each row of the files; `bitmap_bit_position` and
`bitmap_bucket_number` count from 1. All that follows (copies, deletion vectors, change files, new values) reads rows by
place: a condition is evaluated once, may have subqueries, and need not give the same value twice.

The scan of such a query numbers the files in the constant that a table with row tracking has for its row ids, so that
`_metadata.base_row_id` is the position of a row's file in the snapshot, and no column is added that `*` would show.

A commit depends on the files that the scan was asked for, with what Spark pushed into it: a file that is added
concurrently matters if it may hold rows that the same filters leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from engine.bind.bound import BoundTable
from engine.delta.commit.read_set import FilePredicate, file_predicate
from engine.errors.change_errors import ChangedRowsDiffer
from engine.exec.run import Run
from engine.plan.reads.target_reads import numbered
from engine.plans.reads import ReadPlan, TargetRead
from engine.pruning.predicates import ALWAYS, Or, Predicate, conjunction, conjuncts
from engine.table.scan import FILE_METADATA, Choice, ChosenFiles, TableRead
from engine.write.row_sets import RowSet, RowsOfFiles, count_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """`kinds` are the rows by what happens to them, as the query numbers it; `reads` is what they depend on."""

    kinds: Mapping[int, RowsOfFiles]
    reads: FilePredicate
    times: Mapping[int, int]
    """How often the query answered rows of a kind: more often than there are such rows where it answered one twice."""
    scanned: TableRead | None
    """The files that were looked at; None where none was."""

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
    table: BoundTable, places: TargetRead, run: Run, *, once: bool = True, given: Predicate = ALWAYS
) -> FoundRows:
    """Runs a query that `engine.plan.reads.target_reads` composed. `given` is true of all rows of the table that it can
    answer. Raises `ChangedRowsDiffer` where it answers a place twice and should answer each `once`.
    """
    watched = _Watched.of(narrowed(places, given))
    context = replace(run.context, statement_id=f"{run.context.statement_id}-matching")
    kinds: dict[int, dict[int, RowSet]] = {}
    times: dict[int, int] = {}
    result = run.executor.run_query(watched.read, context, run.parameters)
    try:
        for batch in result.batches():
            for file, kind, number, bitmap, count in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                kinds.setdefault(kind, {}).setdefault(file, RowSet()).add(number, bitmap)
                times[kind] = times.get(kind, 0) + count
    finally:
        result.close()
    found = FoundRows(kinds=kinds, reads=watched.file_predicate(table, given), times=times, scanned=watched.read_last)
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
        return self.choice.choose(conjunction((*conjuncts(predicate), self.given)), zone)


@dataclass(frozen=True, slots=True)
class _Watched:
    """A read whose scan of the target numbers the files, and remembers under which conditions they were asked for."""

    read: ReadPlan
    choice: _WatchedChoice | None
    is_once: bool

    @classmethod
    def of(cls, places: TargetRead) -> _Watched:
        choice = _WatchedChoice(places.scan.choice) if places.scan.choice is not None else None
        scans = [numbered(scan) for scan in places.read.scans if scan.metadata != FILE_METADATA]
        own = [replace(scan, choice=choice) for scan in scans if scan.relation == places.target]
        return cls(places.over(*scans, *own).read, choice, places.is_once)

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
        return file_predicate(conjunction((*conjuncts(joined), *conjuncts(given))), table.snapshot.columns(zone))


@dataclass(slots=True)
class _WatchedChoice:
    choice: Choice
    asked: list[Predicate] = field(default_factory=list)
    zone: tzinfo | None = None
    read: TableRead | None = None

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        self.asked.append(predicate)
        self.zone = zone
        chosen = self.choice.choose(predicate, zone)
        self.read = chosen.read
        return chosen
