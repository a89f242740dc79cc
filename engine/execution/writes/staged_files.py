"""Writes rows as data files, and removes them if their statement fails.

The written files are removed if they are accessible, and remaining ones are in no version, so that VACUUM removes them.
After a commit with an unknown outcome they stay, because the version (or a new table's name) may exist.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from catalog.conditions import CatalogOutcomeUnknown, CommitOutcomeUnknown, ConcurrentDrop, SparkFailure
from catalog.errors import SqlError
from engine.binding.bound import BoundTable
from engine.enforcement.row_writing import row_writing, violation
from engine.planning.plans.file_writes import WriteTarget, WrittenFile
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import Storage
from engine.storage.vended_storage import credentials_id_of
from engine.tables.formats import TableFormat
from engine.tables.transaction import AlreadyCommitted, DataFile, NewFiles

logger = logging.getLogger(__name__)


@contextmanager
def new_files(
    table: BoundTable, source: ReadPlan, rows: WritePlan, context: ExecutionContext, folder: str = ""
) -> Iterator[NewFiles]:
    """Writes the rows of `source` as table files; if the block that commits them fails, they are removed.

    They are written below a directory of the table (`name/`).
    """
    with written_files(table.own, table.snapshot.storage, source, rows, context, folder) as new:
        yield new


@contextmanager
def written_files(
    own: TableFormat, target: Storage, source: ReadPlan, rows: WritePlan, context: ExecutionContext, folder: str = ""
) -> Iterator[NewFiles]:
    """Does the same for a table with the format `own` that may not exist yet."""
    target.ensure_writable()
    written = _write(source, rows, f"{target.root}/{folder}".rstrip("/"), credentials_id_of(target), context)
    with discarded_on_failure(target, [f"{folder}{file.path}" for file in written], context):
        files = [
            DataFile(
                path=f"{folder}{file.path}",
                size=file.size,
                modification_time=file.modification_time,
                partition_values=file.partition_values,
                null_counts=file.null_counts,
            )
            for file in written
        ]
        new = own.describe_files(target, rows.config, files, rows.identity_names)
        # Not in the log and not needed by readers.
        discard(target, new.empty)
        # The last point at which a cancelled statement can still remove its files without a
        # commit.
        context.request.cancel.ensure_live()
        yield new


def ensure_can_write(table: BoundTable, source: ReadPlan, rows: WritePlan, context: ExecutionContext) -> None:
    """Raises the errors of `new_files` that do not depend on the rows of `source`; nothing runs."""
    storage = table.snapshot.storage
    target = _target(rows, storage.root, credentials_id_of(storage), uuid.uuid4().hex)
    context.executor.check_write(source, target, context.request, context.parameters)


@contextmanager
def discarded_on_failure(storage: Storage, paths: Iterable[str], context: ExecutionContext) -> Iterator[None]:
    """Removes the data files at `paths` if the block fails and has certainly not committed.

    After an internal error during a commit's put, the commit may exist: the files stay.
    """
    try:
        yield
    except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
        raise
    except BaseException as error:
        # Sealed means that the put may have been sent; then an unexpected exception leaves
        # it unknown whether the commit exists.
        if isinstance(error, SqlError | AlreadyCommitted) or not context.request.cancel.is_sealed:
            discard(storage, paths)
        raise


@contextmanager
def report_drops(table: BoundTable) -> Iterator[None]:
    """Translates a failure in the block if `table` was dropped concurrently with its files."""
    try:
        yield
    except (SparkFailure, OSError) as failure:
        if table.snapshot.is_gone():
            raise ConcurrentDrop(table.label) from failure
        raise


def _write(
    source: ReadPlan, rows: WritePlan, folder: str, credentials_id: str | None, context: ExecutionContext
) -> tuple[WrittenFile, ...]:
    token = uuid.uuid4().hex
    try:
        return context.executor.write_files(
            source, _target(rows, folder, credentials_id, token), context.request, context.parameters
        )
    except SparkFailure as failure:
        # The token distinguishes an error raised by our checks from one with the same text
        # in the user's expressions.
        error = violation(rows, token, failure)
        if error is None:
            raise
        raise error from failure


def _target(rows: WritePlan, folder: str, credentials_id: str | None, token: str) -> WriteTarget:
    return WriteTarget(
        folder=folder,
        lease=credentials_id,
        partition_columns=rows.config.partition_keys,
        compression=rows.config.compression,
        rules=row_writing(rows, token),
    )


def discard(storage: Storage, paths: Iterable[str]) -> None:
    """Removes data files that are in no version; files that cannot be removed stay."""
    for path in paths:
        try:
            storage.delete(path)
        except OSError:
            logger.warning("the file %s of no version stays in %s", path, storage.root)
