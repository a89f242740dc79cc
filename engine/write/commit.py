"""Commit: a staged write becomes a version; then its name, and what follows a commit."""

from __future__ import annotations

from collections.abc import Callable

from catalog.catalog import Catalog
from catalog.errors import TableAlreadyExists
from engine.bind.bound import Outcome
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.conflict_errors import ConcurrentModification
from engine.delta.commit.transaction import Committed
from engine.errors.table_errors import naming
from engine.write.staged_write import StagedWrite


def commit(staged: StagedWrite, policy: RetryPolicy) -> Committed | None:
    """The version that was made; None where there was nothing to commit.

    Raises what `Transaction.commit` does, and `TableAlreadyExists` where another writer made the new table's log.
    """
    transaction = staged.transaction
    if transaction is None:
        return None
    try:
        with naming(staged.label):
            return transaction.commit(policy)
    except ConcurrentModification as error:
        if transaction.snapshot is None:
            raise TableAlreadyExists(staged.label) from error
        raise


def follow_up(
    staged: StagedWrite, committed: Committed | None, catalog: Catalog, after_commit: Callable[[Committed], None]
) -> Outcome:
    """Give a new table its name, and hand the version to those who keep the log in order."""
    if staged.then is not None:
        catalog.change(staged.then)
    if committed is not None:
        after_commit(committed)
    return staged.outcome
