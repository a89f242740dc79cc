"""MERGE: source rows change, delete and insert table rows, in one version.

The source is read once: a table at its pinned version directly, any other source is materialized in files first
(`engine.execution.writes.materialized_source`). One query assigns rows to clauses (`engine.statements.merge.planning`).
Then the rows for UPDATE clauses, read by position, get their new values, the rows for INSERT clauses are the source
rows without a match, and the other rows in touched files are kept (`engine.execution.writes.replaced_rows`). An
insert-only MERGE reads only the columns in its condition and touches no file.

If no row changes, and the source adds no columns to the table, no version is committed, but every clause has been
checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from catalog.conditions import SeveralSourceRows
from engine.binding.bound import Outcome
from engine.enforcement.identity import MinMaxValues, continue_identity_values, merge_min_max, moved_high_water_marks
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.change_files import AFTER_UPDATE, BEFORE_UPDATE, DELETED, INSERTED, Change, change_files
from engine.execution.writes.deleted_rows import count_rows, files_without_rows
from engine.execution.writes.dml.source_keys import source_keys
from engine.execution.writes.dml.update import changed_rows
from engine.execution.writes.file_metrics import Stopwatch, num_files
from engine.execution.writes.matched_rows import MatchedRows, find_rows, narrow_target
from engine.execution.writes.materialized_source import count_materialized, materialized_rows
from engine.execution.writes.replaced_rows import RemainingRows, live_rows, without_rows
from engine.execution.writes.staged_files import ensure_can_write, new_files, report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.writes import MATCHING_SOURCE, MergePlan
from engine.planning.semantics.idempotence import is_already_written, stage_number
from engine.runtime.results import RowCounts, empty_result
from engine.spark.execution_context import ExecutionContext, only_row
from engine.tables.config import Capability
from engine.tables.definition_changes import SetColumnMetadata
from engine.tables.operations import with_metrics
from engine.tables.scan import Scan
from engine.tables.transaction import NewFiles, TableTransaction


@contextmanager
def merge(plan: MergePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Merges the source into the table, as one version."""
    table, watch = plan.table, Stopwatch()
    if is_already_written(plan.idempotent_write, table.snapshot):
        yield StagedWrite(outcome=_outcome(_WrittenRows()))
        return
    with report_drops(table), _source(plan, context) as source, ExitStack() as staged:
        watch.note_source()
        found = _find_rows(plan, source, context)
        watch.note_scan()
        known_rows = _known_source_rows(plan, source)
        written = _write(plan, source, known_rows, found, context, staged)
        with name_table_in_errors(table.label):
            if not (written.num_changed or _redefines(plan)):
                yield StagedWrite(outcome=_outcome(written))
                return
            num_source_rows = _counted_source_rows(source, context) if known_rows is None else known_rows
            transaction = _transaction(plan, written, found, watch, numSourceRows=num_source_rows)
            stage_number(transaction, plan.idempotent_write, context.request.now_ms())
            yield StagedWrite(outcome=_outcome(written), transaction=transaction, label=table.label)


# --- Matching rows ---------------------------------------------------------------------------------------------------


@contextmanager
def _source(plan: MergePlan, context: ExecutionContext) -> Iterator[Scan]:
    if plan.source_query is None:
        yield plan.source
        return
    with materialized_rows(plan.table.snapshot.storage, plan.source, plan.source_query, context) as source:
        yield source


def _find_rows(plan: MergePlan, source: Scan, context: ExecutionContext) -> MatchedRows:
    """Finds the rows for each clause. Raises `SeveralSourceRows`."""
    source_storage = plan.table.snapshot.storage if plan.source_query is not None else None
    # Computed before the join: Spark would read every target file, since a join condition
    # prunes no files at planning.
    keys = source_keys(plan.table, plan.keys, source, context, source_storage)
    # A target row may occur several times, once per matching source row. Whether that is an
    # error depends on the clauses.
    found = find_rows(plan.table, plan.places.over(source), context, once=False, given=keys)
    # SQL's MERGE rule: a target row must not be changed twice. It is checked by counting,
    # and the query that names such a row runs only if there is one.
    if plan.duplicates is not None:
        times = sum(count for kind, count in found.times.items() if kind != MATCHING_SOURCE)
        if times > count_rows(found.of(*(kind for kind in found.kinds if kind != MATCHING_SOURCE))):
            (key,) = only_row(context, narrow_target(plan.duplicates.over(source), keys).read, context.parameters)
            raise SeveralSourceRows(plan.table.label, key)
    return found


# --- New rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenRows:
    """The new files by clause number, the removed files and remaining rows, and the assigned identity values."""

    updated: Mapping[int, NewFiles] | None = None
    inserted: Mapping[int, NewFiles] | None = None
    deleted: Mapping[int, int] | None = None
    remaining: RemainingRows | None = None
    high_water_marks: tuple[SetColumnMetadata, ...] = ()

    @property
    def new(self) -> tuple[NewFiles, ...]:
        return (*(self.updated or {}).values(), *(self.inserted or {}).values())

    @property
    def num_updated(self) -> int:
        return sum(new.num_rows for new in (self.updated or {}).values())

    @property
    def num_inserted(self) -> int:
        return sum(new.num_rows for new in (self.inserted or {}).values())

    @property
    def num_deleted(self) -> int:
        return sum((self.deleted or {}).values())

    @property
    def num_changed(self) -> int:
        return self.num_updated + self.num_inserted + self.num_deleted


def _write(
    plan: MergePlan,
    source: Scan,
    known_rows: int | None,
    found: MatchedRows,
    context: ExecutionContext,
    staged: ExitStack,
) -> _WrittenRows:
    """Writes all files for the version; they are removed with `staged` on failure. `known_rows` is the source's row
    count, if known.
    """
    table = plan.table
    config = plan.definition.config(plan.table.label)
    updated = {}
    for update in plan.updates:
        rows = found.of(update.clause)
        # One write per clause: each has its own expressions, and a CASE over all of them
        # would evaluate values of clauses that do not apply.
        updated[update.clause] = staged.enter_context(
            changed_rows(table, rows, update.values.over(source), update.rows, context)
        )
    # Only counts from files written for this statement are reliable; statistics in other files may be wrong.
    is_all_matched = plan.source_table is None and known_rows == count_rows(found.of(MATCHING_SOURCE))
    if is_all_matched:
        for insert in plan.inserts:
            ensure_can_write(table, insert.values.over(source).read, insert.rows, context)
    # If each source row has a match, nothing is inserted, and the anti-join is not needed.
    inserted, high_water_marks = ({}, ()) if is_all_matched else _insert(plan, source, found, context, staged)
    deleted = replace(found, kinds={kind: rows for kind, rows in found.kinds.items() if kind != MATCHING_SOURCE})
    written = _WrittenRows(
        updated=updated,
        inserted=inserted,
        deleted={kind: count_rows(found.of(kind)) for kind in plan.deletes},
        high_water_marks=high_water_marks,
    )
    if not deleted.all:
        return written
    # Updated rows are deleted at their old position too: a deletion vector or a rewritten
    # file hides them, and their new values are in other files.
    remaining = staged.enter_context(without_rows(table, deleted, context, Capability.VECTORS_ON_MERGE))
    changes = [
        *[Change(kind=DELETED, rows=found.of(kind)) for kind in sorted(plan.deletes)],
        *[Change(kind=BEFORE_UPDATE, rows=found.of(kind)) for kind in updated],
        *[Change(kind=AFTER_UPDATE, rows=new) for new in updated.values()],
        *[Change(kind=INSERTED, rows=new) for new in inserted.values()],
    ]
    change_data = staged.enter_context(change_files(table, config, changes, context))
    return replace(written, remaining=replace(remaining, changes=change_data))


def _insert(
    plan: MergePlan, source: Scan, found: MatchedRows, context: ExecutionContext, staged: ExitStack
) -> tuple[dict[int, NewFiles], tuple[SetColumnMetadata, ...]]:
    """Writes the source rows without a match; identity values continue from one clause to the next."""
    inserted: dict[int, NewFiles] = {}
    high_water_marks: tuple[SetColumnMetadata, ...] = ()
    if not plan.inserts:
        return inserted, high_water_marks
    known = None if plan.source_table is None else plan.source_table.snapshot
    # The matching source rows are excluded by position, as with a deletion vector, so that
    # the join does not run a second time.
    files = files_without_rows(known, source.files, found.of(MATCHING_SOURCE))
    min_max_values: MinMaxValues = {}
    for insert in plan.inserts:
        rows = continue_identity_values(insert.rows, min_max_values)
        read = insert.values.over(replace(source, files=files, pruning=None)).read
        new = staged.enter_context(new_files(plan.table, read, rows, context))
        inserted[insert.clause] = new
        min_max_values = merge_min_max(min_max_values, new.min_max_values)
        high_water_marks = moved_high_water_marks(insert.rows.identities, min_max_values) or high_water_marks
    return inserted, high_water_marks


# --- The version -----------------------------------------------------------------------------------------------------


def _transaction(
    plan: MergePlan, written: _WrittenRows, found: MatchedRows, watch: Stopwatch, **metrics: int
) -> TableTransaction:
    """Returns the transaction; `metrics` are additional metrics that the version does not determine."""
    table, snapshot = plan.table, plan.table.snapshot
    metrics |= {
        **_metrics(written, plan.by_source),
        **_skipping_metrics(plan, found),
        **watch.source_metrics,
        **watch.metrics,
    }
    texts = {name: str(value) for name, value in metrics.items()}
    description = with_metrics(plan.description, **texts)
    # "Row Tracking": updated rows keep their id, and their commit version changes.
    transaction = table.own.begin(snapshot, replace(description, keeps_row_ids=True), table.label)
    if written.high_water_marks or _redefines(plan):
        transaction.define(plan.definition, written.high_water_marks)
    if plan.reads_table:
        transaction.read_whole_table()
    # If a matching table row is removed concurrently, its source row has no match any more and would have to be
    # inserted.
    keeps_matches = bool(plan.inserts) and not plan.changes_all_matches
    if written.remaining is not None:
        written.remaining.stage_in(transaction, rows_alone=not (plan.reads_table or keeps_matches))
    if keeps_matches or written.remaining is None:
        read = snapshot.files.take(found.files) if keeps_matches else snapshot.files.slice(0, 0)
        transaction.depend_on(found.reads, read["path"])
    for new in written.new:
        transaction.add_files(new)
    return transaction


def _redefines(plan: MergePlan) -> bool:
    """Returns whether schema evolution changes the definition."""
    return plan.definition != plan.table.snapshot.definition


def _metrics(written: _WrittenRows, by_source: frozenset[int]) -> dict[str, int]:
    """Returns metrics with Delta's names."""
    copied = written.remaining.copied if written.remaining else None
    updated = {kind: new.num_rows for kind, new in (written.updated or {}).items()}
    deleted = written.deleted or {}
    num_copied = copied.num_rows if copied else 0
    files = [*written.new, *([copied] if copied else [])]
    metrics = {
        "numTargetRowsInserted": written.num_inserted,
        "numTargetRowsUpdated": written.num_updated,
        "numTargetRowsMatchedUpdated": _sum(updated, by_source, inside=False),
        "numTargetRowsNotMatchedBySourceUpdated": _sum(updated, by_source, inside=True),
        "numTargetRowsDeleted": written.num_deleted,
        "numTargetRowsMatchedDeleted": _sum(deleted, by_source, inside=False),
        "numTargetRowsNotMatchedBySourceDeleted": _sum(deleted, by_source, inside=True),
        "numTargetRowsCopied": num_copied,
        "numOutputRows": written.num_inserted + written.num_updated + num_copied,
        "numTargetFilesAdded": sum(new.num_files for new in files),
        "numTargetBytesAdded": sum(new.num_bytes for new in files),
        # Names and zeros as in delta-spark, whose DESCRIBE HISTORY consumers expect each of
        # them.
        "numTargetFilesRemoved": 0,
        "numTargetBytesRemoved": 0,
        "numTargetChangeFilesAdded": 0,
        "numTargetDeletionVectorsAdded": 0,
        "numTargetDeletionVectorsRemoved": 0,
        "numTargetDeletionVectorsUpdated": 0,
    }
    if written.remaining is not None:
        removal, vectors = written.remaining.removal_metrics, written.remaining.vector_metrics
        metrics["numTargetFilesRemoved"] = removal["numRemovedFiles"]
        metrics["numTargetBytesRemoved"] = removal["numRemovedBytes"]
        metrics["numTargetChangeFilesAdded"] = num_files(written.remaining.changes)
        metrics |= {name.replace("num", "numTarget", 1): count for name, count in vectors.items()}
    return metrics


def _known_source_rows(plan: MergePlan, source: Scan) -> int | None:
    """Returns the source's row count from footers or statistics; None if they do not contain it."""
    if plan.source_table is None:
        return count_materialized(plan.table.snapshot.storage, source)
    live = live_rows(plan.source_table, source.files)
    return int(live.sum()) if (live >= 0).all() else None


def _counted_source_rows(source: Scan, context: ExecutionContext) -> int:
    read = ReadPlan(text=f"SELECT count(*) FROM {source.relation}", scans=(source,))
    return int(only_row(context, read, ())[0])


def _skipping_metrics(plan: MergePlan, found: MatchedRows) -> dict[str, int]:
    """Returns how many files were searched for matches."""
    snapshot, scanned = plan.table.snapshot, found.scanned
    return {
        "numTargetFilesBeforeSkipping": snapshot.num_files,
        "numTargetBytesBeforeSkipping": snapshot.size_bytes,
        "numTargetFilesAfterSkipping": scanned.files if scanned else 0,
        "numTargetBytesAfterSkipping": scanned.bytes if scanned else 0,
    }


def _sum(counts: Mapping[int, int], clauses: frozenset[int], *, inside: bool) -> int:
    return sum(count for clause, count in counts.items() if (clause in clauses) is inside)


def _outcome(written: _WrittenRows) -> Outcome:
    counts = RowCounts(
        affected=written.num_changed,
        updated=written.num_updated,
        deleted=written.num_deleted,
        inserted=written.num_inserted,
    )
    return Outcome(result=replace(empty_result(), row_counts=counts))
