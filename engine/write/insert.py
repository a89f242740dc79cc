"""INSERT in all its forms, and TRUNCATE: rows become files, files become the actions of a transaction.

Whatever fails before the commit leaves the table as it was (`engine.write.staged_files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from engine.bind.bound import Outcome
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.identity import HIGH_WATER_MARK_ONLY_TAG
from engine.delta.definition.metadata_changes import MetadataChange, change_table
from engine.delta.definition.table_draft import Definition
from engine.delta.delta_format import delta_snapshot
from engine.delta.snapshot.snapshot import Snapshot
from engine.enforce.identity import moved_high_water_marks
from engine.errors.table_errors import naming
from engine.exec.run import Run
from engine.plans.writes import (
    InsertPlan,
    KeepAll,
    ReplaceAll,
    ReplaceEqual,
    ReplaceMatching,
    ReplaceRelated,
    ReplaceRows,
    ReplaceTouched,
    TruncatePlan,
)
from engine.runtime.results import RowCounts, empty_result
from engine.table.operations import CommitDescription, with_metrics
from engine.write.copied_rows import preserving
from engine.write.numbered_writes import stage_number, was_written
from engine.write.related_rows import SourceRows, related_rows
from engine.write.replaced_partitions import matching_partitions, partitions_of, without_partitions
from engine.write.replaced_rows import Remainder, Replacing, counting_rows, equal_to, where, without_rows
from engine.write.staged_files import drop_told, new_files
from engine.write.staged_write import StagedWrite


@contextmanager
def insert(plan: InsertPlan, run: Run) -> Iterator[StagedWrite]:
    """Rows into a table, as one version; none where no row comes and none goes."""
    snapshot, rows = delta_snapshot(plan.table.snapshot), plan.rows
    if was_written(plan.numbered, snapshot):
        yield StagedWrite(outcome=counted(0))
        return
    if plan.only_if_absent and _is_there(plan, run):
        yield StagedWrite(outcome=counted(0))
        return
    with (
        drop_told(plan.table),
        _source_rows(plan, run) as source,
        new_files(source.read, rows, snapshot.storage, replace(run, parameters=source.parameters)) as new,
        _remainder(plan, new, source, run) as remainder,
        naming(plan.table.label),
    ):
        transaction = _transaction(plan, new, remainder)
        stage_number(transaction, plan.numbered, run.context.now_ms())
        yield StagedWrite(
            outcome=counted(new.num_rows),
            transaction=None if transaction.is_empty else transaction,
            label=plan.table.label,
        )


def _transaction(plan: InsertPlan, new: NewFiles, remainder: Remainder | None) -> Transaction:
    """With all that the version has, and what it depends on."""
    snapshot, rows = delta_snapshot(plan.table.snapshot), plan.rows
    high_water_marks = moved_high_water_marks(rows, new.extremes)
    description = replace(
        with_file_metrics(plan.description, new, remainder), tags=_tags(high_water_marks, plan.definition, snapshot)
    )
    if remainder is not None and remainder.keeps_rows:
        description = preserving(description, plan.table)
    transaction = Transaction.on(snapshot, description, table=plan.table.label)
    if high_water_marks or plan.definition != Definition.of(snapshot.config):
        transaction.define(change_table(rows.config, high_water_marks))
    if plan.reads_table:
        transaction.read_whole_table()
    if remainder is not None:
        remainder.stage_in(transaction)
    transaction.stage(*new.adds)
    return transaction


def _tags(high_water_marks: Sequence[MetadataChange], definition: Definition, snapshot: Snapshot) -> Mapping[str, str]:
    return HIGH_WATER_MARK_ONLY_TAG if high_water_marks and definition.metadata == snapshot.metadata else {}


@contextmanager
def truncate(plan: TruncatePlan) -> Iterator[StagedWrite]:
    """The number of rows is that of the statistics, None where a file has none."""
    snapshot = delta_snapshot(plan.table.snapshot)
    with naming(plan.table.label):
        metrics = {"numRemovedFiles": str(snapshot.num_files), "numRemovedBytes": str(snapshot.size_bytes)}
        transaction = Transaction.on(snapshot, with_metrics(plan.description, **metrics), table=plan.table.label)
        transaction.stage_removes(transaction.read_whole_table())
        yield StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=plan.table.label)


# --- Removed files ---------------------------------------------------------------------------------------------------


@contextmanager
def _source_rows(plan: InsertPlan, run: Run) -> Iterator[SourceRows]:
    """The query; and which rows its rows replace, where these decide."""
    table = plan.table
    match plan.replacement:
        case ReplaceRelated() as related:
            with related_rows(plan, related, run) as source:
                yield source
        case ReplaceEqual(columns=columns):
            yield SourceRows(
                read=plan.source, parameters=run.parameters, deleted=lambda new: equal_to(table, columns, new)
            )
        case _:
            yield SourceRows(read=plan.source, parameters=run.parameters)


@contextmanager
def _remainder(plan: InsertPlan, new: NewFiles, source: SourceRows, run: Run) -> Iterator[Remainder | None]:
    """What the new files replace; None for an append."""
    replacing = Replacing(new=new, config=plan.rows.config)
    match plan.replacement:
        case KeepAll():
            yield None
        case ReplaceAll():
            yield Remainder(removed=plan.table.snapshot.files)
        case ReplaceTouched():
            yield without_partitions(plan.table, partitions_of(plan.table, new, run), run)
        case ReplaceMatching(condition=condition):
            yield counting_rows(without_partitions(plan.table, matching_partitions(plan.table, condition, run), run))
        case ReplaceRows(condition=condition):
            with without_rows(plan.table, where(plan.table, condition), replacing, run) as remainder:
                yield remainder
        case ReplaceEqual() | ReplaceRelated():
            if not new.adds or source.deleted is None:
                yield None
                return
            with without_rows(plan.table, source.deleted(new), replacing, run) as remainder:
                yield remainder


def _is_there(plan: InsertPlan, run: Run) -> bool:
    """Whether the partitions that would be replaced have files."""
    assert isinstance(plan.replacement, ReplaceMatching)
    wanted = matching_partitions(plan.table, plan.replacement.condition, run)
    return len(without_partitions(plan.table, wanted, run).removed) > 0


# --- Small things ----------------------------------------------------------------------------------------------------


def with_file_metrics(
    description: CommitDescription, new: NewFiles, remainder: Remainder | None = None
) -> CommitDescription:
    """Delta's names; its values are texts."""
    copied = remainder.copied if remainder else None
    num_copied = copied.num_rows if copied else 0
    metrics = {
        "numFiles": len(new.adds) + (len(copied.adds) if copied else 0),
        "numOutputRows": new.num_rows + num_copied,
        "numOutputBytes": new.num_bytes + (copied.num_bytes if copied else 0),
    }
    if remainder is not None:
        metrics |= remainder.removal_metrics
        if remainder.num_deleted is not None:
            metrics["numDeletedRows"] = remainder.num_deleted
            metrics |= {"numCopiedRows": num_copied, "numAddedChangeFiles": len(remainder.changes)}
        if remainder.marked is not None:
            metrics |= remainder.vector_metrics
    return with_metrics(description, **{name: str(value) for name, value in metrics.items()})


def counted(num_rows: int) -> Outcome:
    """Nothing to show, and how many rows were inserted; those that they replaced are not counted."""
    counts = RowCounts(affected=num_rows, inserted=num_rows)
    return Outcome(result=replace(empty_result(), row_counts=counts))
