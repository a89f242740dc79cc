"""Writes, carried out: rows become files, files become actions, actions become a version.

Whatever fails before the commit leaves the table as it was (`engine.write.staged_files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow.compute as pc

from engine.bind.bound import Outcome
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.staged_commit import CommitDescription
from engine.delta.commit.transaction import Transaction, with_metrics
from engine.delta.definition.identity import MARK_ONLY_TAG
from engine.delta.definition.metadata_changes import MetadataChange, change_table
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import SetTransaction
from engine.enforce.identity import moved_marks
from engine.enforce.rules import enforce
from engine.errors.table_errors import naming
from engine.plans.write_plan import WritePlan
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
from engine.runtime.results import ResultStream, RowCounts, empty_result
from engine.write.copied_rows import preserving
from engine.write.related_rows import SourceRows, related_rows
from engine.write.replaced_partitions import matching_partitions, partitions_of, without_partitions
from engine.write.replaced_rows import Remainder, Replacing, equal_to, where, without_rows
from engine.write.schema_evolution import evolved, filled
from engine.write.staged_files import Writing, drop_told, new_files


def insert(plan: InsertPlan, writing: Writing) -> Outcome:
    """Rows into a table, as one version."""
    snapshot = plan.table.snapshot
    plan, definition = _evolved(plan, writing)
    rows = enforce(plan.rows)
    if plan.numbered is not None and _was_written(plan.numbered, snapshot):
        return Outcome(result=counted(0))
    if plan.only_if_absent and _is_there(plan, writing):
        return Outcome(result=counted(0))
    with (
        drop_told(plan.table),
        _source_rows(plan, rows, writing) as source,
        new_files(source.read, rows, snapshot.storage, replace(writing, parameters=source.parameters)) as new,
        _remainder(plan, new, source, writing) as remainder,
        naming(plan.table.label),
    ):
        marks = moved_marks(rows, new.extremes)
        description = replace(
            with_file_metrics(plan.description, new, remainder), tags=_tags(marks, definition, snapshot)
        )
        if remainder is not None and remainder.copied is not None:
            description = preserving(description, plan.table)
        transaction = Transaction.on(snapshot, description, table=plan.table.label)
        if marks or definition != Definition.of(snapshot.config):
            transaction.define(change_table(rows.config, marks))
        if plan.reads_table or (remainder is not None and remainder.reads is None):
            transaction.read_whole_table()
        if remainder is not None:
            if remainder.reads is not None:
                transaction.depend_on(remainder.reads, remainder.removed["path"])
            transaction.stage_removes(remainder.removed)
            transaction.stage(*(remainder.copied.adds if remainder.copied else ()), *remainder.changes)
        transaction.stage(*new.adds)
        if plan.numbered is not None:
            transaction.last_version_of(plan.numbered.app_id)
            transaction.stage(replace(plan.numbered, last_updated=writing.context.now_ms()))
        committed = transaction.commit()
    writing.after_commit(committed)
    return Outcome(result=counted(new.num_rows))


def _evolved(plan: InsertPlan, writing: Writing) -> tuple[InsertPlan, Definition]:
    """The plan with what it has to know of the query's columns, and the table's definition with what is new."""
    snapshot, rows, source = plan.table.snapshot, plan.rows, plan.source
    definition = Definition.of(snapshot.config)
    if not plan.by_name and not plan.evolves:
        return plan, definition
    found = writing.executor.columns_of(source, writing.context, writing.parameters)
    if plan.evolves:
        definition = evolved(rows, found, plan.by_name)
        rows = replace(rows, config=definition.config(plan.table.label))
    if plan.by_name:
        rows = replace(rows, source_columns=tuple(column.name for column in found))
        source = filled(source, found, rows.schema) if plan.evolves else source
    return replace(plan, rows=rows, source=source), definition


def _tags(marks: Sequence[MetadataChange], definition: Definition, snapshot: Snapshot) -> Mapping[str, str]:
    return MARK_ONLY_TAG if marks and definition.metadata == snapshot.metadata else {}


def truncate(plan: TruncatePlan, writing: Writing) -> Outcome:
    """The number of rows is that of the statistics, None where a file has none."""
    snapshot = plan.table.snapshot
    with naming(plan.table.label):
        metrics = {"numRemovedFiles": str(snapshot.num_files), "numRemovedBytes": str(snapshot.size_bytes)}
        transaction = Transaction.on(snapshot, with_metrics(plan.description, **metrics), table=plan.table.label)
        transaction.stage_removes(transaction.read_whole_table())
        writing.after_commit(transaction.commit())
    return Outcome(result=empty_result())


# --- Which files go --------------------------------------------------------------------------------------------------


@contextmanager
def _source_rows(plan: InsertPlan, rows: WritePlan, writing: Writing) -> Iterator[SourceRows]:
    """The query; and which rows go with those that it gives, where these decide."""
    table = plan.table
    match plan.replacement:
        case ReplaceRelated() as related:
            with related_rows(table, related, plan.source, rows, writing) as source:
                yield source
        case ReplaceEqual(columns=columns):
            yield SourceRows(
                read=plan.source, parameters=writing.parameters, going=lambda new: equal_to(table, columns, new)
            )
        case _:
            yield SourceRows(read=plan.source, parameters=writing.parameters)


@contextmanager
def _remainder(plan: InsertPlan, new: NewFiles, source: SourceRows, writing: Writing) -> Iterator[Remainder | None]:
    """What the new files replace; None for an append."""
    replacing = Replacing(new=new, config=plan.rows.config)
    match plan.replacement:
        case KeepAll():
            yield None
        case ReplaceAll():
            yield Remainder(removed=plan.table.snapshot.files)
        case ReplaceTouched():
            yield without_partitions(plan.table, partitions_of(plan.table, new, writing), writing)
        case ReplaceMatching(condition=condition):
            yield without_partitions(plan.table, matching_partitions(plan.table, condition, writing), writing)
        case ReplaceRows(condition=condition):
            with without_rows(plan.table, where(plan.table, condition), replacing, writing) as remainder:
                yield remainder
        case ReplaceEqual() | ReplaceRelated():
            if not new.adds or source.going is None:
                yield None
                return
            with without_rows(plan.table, source.going(new), replacing, writing) as remainder:
                yield remainder


def _was_written(numbered: SetTransaction, snapshot: Snapshot) -> bool:
    last = snapshot.set_transactions.get(numbered.app_id)
    return last is not None and last.version >= numbered.version


def _is_there(plan: InsertPlan, writing: Writing) -> bool:
    """Whether the partitions that would be replaced have files."""
    assert isinstance(plan.replacement, ReplaceMatching)
    wanted = matching_partitions(plan.table, plan.replacement.condition, writing)
    return len(without_partitions(plan.table, wanted, writing).removed) > 0


# --- Small things ----------------------------------------------------------------------------------------------------


def with_file_metrics(
    description: CommitDescription, new: NewFiles, remainder: Remainder | None = None
) -> CommitDescription:
    """Delta's names; its values are texts."""
    copied = remainder.copied if remainder else None
    metrics = {
        "numFiles": len(new.adds) + (len(copied.adds) if copied else 0),
        "numOutputRows": new.num_rows,
        "numOutputBytes": new.num_bytes + (copied.num_bytes if copied else 0),
    }
    if remainder is not None:
        metrics["numRemovedFiles"] = remainder.removed.num_rows
        metrics["numRemovedBytes"] = pc.sum(remainder.removed["size"]).as_py() or 0
        if remainder.num_deleted is not None:
            metrics["numDeletedRows"] = remainder.num_deleted
            metrics["numCopiedRows"] = copied.num_rows if copied else 0
    return with_metrics(description, **{name: str(value) for name, value in metrics.items()})


def counted(num_rows: int) -> ResultStream:
    """Nothing to show, and how many rows were inserted; those that they replaced are not counted."""
    return replace(empty_result(), row_counts=RowCounts(affected=num_rows, inserted=num_rows))
