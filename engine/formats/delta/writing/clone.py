"""CLONE: one table's files become another's, in one version.

A shallow clone copies nothing: its log references the files in place, and keeps its earlier references. A deep clone
copies bytes, not rows, so that statistics and deletion vectors remain valid; if it has already copied the source table,
it copies only new files. Each copy has a unique name, so a failed copy can be deleted whatever other writers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import CloneFileMissing, CloneWithoutRowCounts
from catalog.entries import CloneEntry
from engine.binding.bound import Outcome
from engine.delta.commit.cloned_files import absolute_paths, absolute_vectors, cloned_files
from engine.delta.commit.staged_commit import combine_batches
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.clones import cloned_domains
from engine.delta.log.file_table import FILES_SCHEMA
from engine.delta.snapshot.live_files import without_files
from engine.delta.snapshot.row_files import num_records
from engine.delta.snapshot.snapshot import Snapshot
from engine.execution.writes.commit import report_removal
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.plans import ClonePlan
from engine.formats.delta.writing.copied_files import copied_files, missing_file
from engine.runtime.results import BIGINT, small_result
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import Storage
from engine.tables.formats import TableFormat
from engine.tables.operations import with_metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Files that a version adds to a clone and removes; `copied` are the sizes of the files that were written."""

    adds: pa.RecordBatch
    removes: pa.Table
    copied: Sequence[int] = ()


@contextmanager
def clone_table(plan: ClonePlan, own: TableFormat, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages a clone. Raises `CloneFileMissing`, `CloneWithoutRowCounts`, `StatementCancelled`."""
    entry = plan.entry
    source = delta_snapshot(plan.source.snapshot)
    replaced = delta_snapshot(plan.replaced.snapshot) if plan.replaced else None
    storage = own.folder(entry.location)
    assert isinstance(storage, Storage), "planned for no other format"
    storage.ensure_writable()
    before = replaced.files if replaced else FILES_SCHEMA.empty_table()
    with report_removal(entry), _difference(plan, source, storage, before, context) as difference:
        metrics = _metrics(source, difference)
        description = with_metrics(plan.description, **{name: str(value) for name, (_, value) in metrics.items()})
        label = plan.replaced.label if plan.replaced else str(entry.name)
        transaction = Transaction(storage, replaced, description, table=label)
        _define(transaction, plan, context.request.now_ms())
        transaction.stage(*cloned_domains(source.domain_metadata, replaced.domain_metadata if replaced else {}))
        transaction.stage_removes(difference.removes)
        transaction.stage_adds(difference.adds)
        columns = {column: BIGINT for column, _ in metrics.values()}
        yield StagedWrite(
            outcome=Outcome(result=small_result(columns, [[value for _, value in metrics.values()]])),
            transaction=transaction,
            label=label,
            creates=None if replaced else replace(entry, created_ms=context.request.now_ms()),
            clone=CloneEntry(location=entry.location, sources=plan.sources) if plan.shallow else None,
            is_path=plan.is_path,
        )


def _define(transaction: Transaction, plan: ClonePlan, now_ms: int) -> None:
    definition = plan.definition
    if plan.replaced is None:
        definition = replace(definition, metadata=replace(definition.metadata, created_time=now_ms))
    else:
        # A clone over an existing table replaces all its files: any commit in between is a
        # conflict, because its rows would be lost silently.
        transaction.read_whole_table()
    transaction.define(definition)


@contextmanager
def _difference(
    plan: ClonePlan, source: Snapshot, storage: Storage, before: pa.Table, context: ExecutionContext
) -> Iterator[Difference]:
    _ensure_rows_counted(plan, source)
    if plan.shallow:
        # The newest version's files exist by the protocol; an older version's may have been
        # removed by VACUUM, and the clone would be broken from its first read.
        if plan.is_past:
            _ensure_files_there(plan, source, context)
        files, confinement = source.files, source.storage.confinement
        after = cloned_files(files, absolute_paths(files, confinement), absolute_vectors(files, confinement))
        named = pa.Table.from_batches([after])
        adds = combine_batches(without_files(named, before).to_batches(), FILES_SCHEMA)
        yield Difference(adds=adds, removes=without_files(before, named))
        return
    with copied_files(source, plan.source.label, storage, before, context) as copies:
        yield Difference(adds=copies.adds, removes=before.filter(copies.removed), copied=copies.sizes)


def _ensure_rows_counted(plan: ClonePlan, source: Snapshot) -> None:
    """Raises if a file's row count is missing: rows get ids whenever the protocol supports row tracking, which needs
    counts.
    """
    config = plan.definition.config(plan.source.label)
    stats = source.files["stats"].combine_chunks()
    # "Writer Requirements for Row Tracking": `baseRowId` is assigned by the number of rows
    # of each file, so that numRecords is required.
    if config.is_supported("rowTracking") and pc.any(num_records(stats).is_null()).as_py():
        raise CloneWithoutRowCounts(plan.source.label)


def _ensure_files_there(plan: ClonePlan, source: Snapshot, context: ExecutionContext) -> None:
    """Raises if an older version's file is missing, since VACUUM may have removed it."""
    missing = missing_file(source, context)
    if missing is not None:
        raise CloneFileMissing(plan.source.label, source.version, missing)


def _metrics(source: Snapshot, difference: Difference) -> dict[str, tuple[str, int]]:
    """Returns Delta's metric name -> the result column's name, and the value."""
    removed = difference.removes
    return {
        "sourceTableSize": ("source_table_size", source.size_bytes),
        "sourceNumOfFiles": ("source_num_of_files", source.num_files),
        "numRemovedFiles": ("num_removed_files", removed.num_rows),
        "numCopiedFiles": ("num_copied_files", len(difference.copied)),
        "removedFilesSize": ("removed_files_size", int(pc.sum(removed["size"]).as_py() or 0)),
        "copiedFilesSize": ("copied_files_size", sum(difference.copied)),
    }
