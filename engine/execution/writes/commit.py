"""Commit: a staged write becomes a version; then what follows a commit."""

from __future__ import annotations

from collections.abc import Callable

from catalog.catalog import Catalog
from catalog.changes import RecordClone
from engine.binding.bound import Outcome
from engine.concurrency.retry import RetryPolicy
from engine.errors.table_errors import naming
from engine.execution.writes.creation import commit_creation
from engine.execution.writes.staged_write import StagedWrite
from engine.tables.transaction import TableCommit


def commit(staged: StagedWrite, policy: RetryPolicy, catalog: Catalog) -> TableCommit | None:
    """The version that was made, with its name where it made a table; None where there was no log to write.

    Raises what `TableTransaction.commit` does, and the errors of `engine.execution.writes.creation`.
    """
    if staged.clone is not None:
        catalog.change(RecordClone(staged.clone))
    if staged.creates is not None:
        return commit_creation(staged, staged.creates, policy, catalog)
    if staged.transaction is None:
        return None
    with naming(staged.label):
        return staged.transaction.commit(policy)


def follow_up(
    staged: StagedWrite, committed: TableCommit | None, after_commit: Callable[[TableCommit], None]
) -> Outcome:
    """Hand the version to those who keep the log in order; the answer of the statement."""
    if committed is not None:
        after_commit(committed)
    return staged.outcome
