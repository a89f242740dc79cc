"""Rows become data files: the files of one write, gone again if what they were written for fails.

The files that were written are removed as far as can be reached, and those left are in no version, so that VACUUM
collects them. After a commit of unknown outcome they stay, for the version (or the name of a new table) may be there.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from catalog.errors import CatalogOutcomeUnknown, SqlError
from engine.bind.bound import BoundTable
from engine.enforce.row_rules import row_rules, violation
from engine.errors.conflict_errors import CommitOutcomeUnknown, ConcurrentDrop
from engine.errors.statement_errors import SparkFailure
from engine.exec.run import Run
from engine.plans.file_writes import WriteTarget, WrittenFile
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.storage.lent_storage import lease_of
from engine.storage.storage import Storage
from engine.table.formats import TableFormat
from engine.table.transaction import DataFile, NewFiles

logger = logging.getLogger(__name__)


@contextmanager
def new_files(table: BoundTable, source: ReadPlan, rows: WritePlan, run: Run, folder: str = "") -> Iterator[NewFiles]:
    """Writes the rows of `source` as files of a table; if the block that commits them fails, they go.

    They are written below a folder of the table's (`name/`).
    """
    with written_files(table.own, table.snapshot.storage, source, rows, run, folder) as new:
        yield new


@contextmanager
def written_files(
    own: TableFormat, target: Storage, source: ReadPlan, rows: WritePlan, run: Run, folder: str = ""
) -> Iterator[NewFiles]:
    """The same for a table of the format `own` that may be not there yet."""
    target.ensure_writable()
    written = _write(source, rows, f"{target.root}/{folder}".rstrip("/"), lease_of(target), run)
    with discarded_on_failure(target, [f"{folder}{file.path}" for file in written], run):
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
        discard(target, new.empty)
        run.context.cancel.ensure_live()
        yield new


def ensure_can_write(table: BoundTable, source: ReadPlan, rows: WritePlan, run: Run) -> None:
    """Raises what `new_files` would, whichever rows `source` has; nothing runs."""
    storage = table.snapshot.storage
    target = _target(rows, storage.root, lease_of(storage), uuid.uuid4().hex)
    run.executor.check_write(source, target, run.context, run.parameters)


@contextmanager
def discarded_on_failure(storage: Storage, paths: Iterable[str], run: Run) -> Iterator[None]:
    """If the block fails, and surely has not committed, the data files at `paths` go.

    A failure of ours while a commit is put says nothing about the commit: the files stay.
    """
    try:
        yield
    except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
        raise
    except BaseException as error:
        if isinstance(error, SqlError) or not run.context.cancel.is_sealed:
            discard(storage, paths)
        raise


@contextmanager
def drop_told(table: BoundTable) -> Iterator[None]:
    """A failure of the block that comes from `table` being dropped concurrently, files and all, says so."""
    try:
        yield
    except (SparkFailure, OSError) as failure:
        if table.snapshot.is_gone():
            raise ConcurrentDrop(table.label) from failure
        raise


def _write(source: ReadPlan, rows: WritePlan, folder: str, lease: str | None, run: Run) -> tuple[WrittenFile, ...]:
    token = uuid.uuid4().hex
    try:
        return run.executor.write_files(source, _target(rows, folder, lease, token), run.context, run.parameters)
    except SparkFailure as failure:
        error = violation(rows, token, failure)
        if error is None:
            raise
        raise error from failure


def _target(rows: WritePlan, folder: str, lease: str | None, token: str) -> WriteTarget:
    return WriteTarget(
        folder=folder,
        lease=lease,
        partition_columns=rows.config.partition_keys,
        compression=rows.config.compression,
        rules=row_rules(rows, token),
    )


def discard(storage: Storage, paths: Iterable[str]) -> None:
    """Removes data files that no version has; those that cannot be removed stay."""
    for path in paths:
        try:
            storage.delete(path)
        except OSError:
            logger.warning("the file %s of no version stays in %s", path, storage.root)
