"""RESTORE: an older version's files and definition, in one version that fails if another commit wins.

Files are compared by path and deletion vector. The older version's files that are not live are added again with their
logged metadata, row ids included; live files that it did not have are removed. Before that, each added file is checked
for existence, with its vector: files that VACUUM removed cannot be restored. VACUUM on this server, of the table or of
one whose files it references as a shallow clone, waits until the commit (`engine.formats.delta.writing.vacuum`).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import RestoredFilesMissing
from engine.binding.bound import Outcome
from engine.concurrency.table_locks import file_lock
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.needed_files import file_paths
from engine.delta.snapshot.live_files import without_files
from engine.delta.snapshot.snapshot import Snapshot
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import RestorePlan
from engine.runtime.results import BIGINT, small_result
from engine.spark.execution_context import ExecutionContext
from engine.tables.operations import with_metrics

_THREADS = 16
_FILES_AT_ONCE = 1000
_NAMED_MAX = 5

# The result's columns, and their metrics.
_ANSWER = {
    "table_size_after_restore": "tableSizeAfterRestore",
    "num_of_files_after_restore": "numOfFilesAfterRestore",
    "num_removed_files": "numRemovedFiles",
    "num_restored_files": "numRestoredFiles",
    "removed_files_size": "removedFilesSize",
    "restored_files_size": "restoredFilesSize",
}


@contextmanager
def restore(plan: RestorePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages one version. Raises `RestoredFilesMissing`."""
    table, older = plan.table, plan.restored
    snapshot, label = delta_snapshot(table.snapshot), table.label
    roots = (snapshot.table_root, *context.sources.catalog.view().sources_of(table.entry.location))
    with context.sources.locks.hold_all(map(file_lock, roots), context.request.cancel), name_table_in_errors(label):
        older.ensure_files_allowed()
        # A file in both versions stays untouched, unless its deletion vector differs: path
        # and vector are the identity ("Action Reconciliation").
        added, removed = without_files(older.files, snapshot.files), without_files(snapshot.files, older.files)
        _ensure_there(label, older, added, context)
        metrics = {
            "tableSizeAfterRestore": older.size_bytes,
            "numOfFilesAfterRestore": older.num_files,
            "numRemovedFiles": removed.num_rows,
            "numRestoredFiles": added.num_rows,
            "removedFilesSize": _size(removed),
            "restoredFilesSize": _size(added),
        }
        transaction = Transaction.on(snapshot, with_metrics(plan.description, **metrics), table=label)
        transaction.define(plan.definition)
        transaction.stage_removes(removed)
        for batch in added.to_batches():
            transaction.stage_adds(batch)
        row = [metrics[name] for name in _ANSWER.values()]
        answer = small_result(dict.fromkeys(_ANSWER, BIGINT), [row])
        yield StagedWrite(outcome=Outcome(result=answer), transaction=transaction, label=label)


def _size(files: pa.Table) -> int:
    return int(pc.sum(files.column("size")).as_py() or 0)


def _ensure_there(label: str, older: Snapshot, files: pa.Table, context: ExecutionContext) -> None:
    storage = older.storage
    paths = {path: None for some in file_paths(files.to_batches()) for path in some.to_pylist()}
    names, missing = list(paths), []
    with ThreadPoolExecutor(_THREADS, "restore") as threads:
        for start in range(0, len(names), _FILES_AT_ONCE):
            context.request.cancel.ensure_live()
            some = names[start : start + _FILES_AT_ONCE]
            found = threads.map(storage.exists, some)
            missing += [name for name, exists in zip(some, found, strict=True) if not exists]
    if missing:
        named = ", ".join(missing[:_NAMED_MAX]) + (", …" if len(missing) > _NAMED_MAX else "")
        raise RestoredFilesMissing(label, older.version, len(missing), named)
