"""Two processes that run one statement, in every order of their steps: one of them commits it, and both know its
version.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import Storage
from engine.tables.transaction import AlreadyCommitted, TableCommit, TableTransaction
from tests.interleave import histories, iceberg_histories, test_iceberg_writers, test_two_writers
from tests.interleave.histories import Op
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage

ID = str(uuid.UUID(int=7))
OPS = (
    histories.APPEND_A,
    histories.INSERT_SELECT,
    histories.REWRITE_A,
    histories.OVERWRITE,
    histories.DELETE_A,
    histories.COMPACT_A,
)
_EMPTY = DictStorage()
iceberg_histories.create_table(_EMPTY)


def begun_on_delta(storage: Storage, op: Op, who: str) -> Transaction:
    return histories.begin(Snapshot.load(storage), op, who)


def outcome_of(transaction: TableTransaction) -> tuple[str, int]:
    try:
        committed: TableCommit = transaction.commit()
    except AlreadyCommitted as found:
        return "found", found.record.version
    return "committed", committed.version


def explored(
    make_table: Callable[[], DictStorage],
    begin: Callable[[Storage, Op, str], Any],
    stepped: Callable[[DictStorage, Step], Storage],
    op: Op,
    others: tuple[Op, ...] = (),
) -> list[tuple[list[Any], DictStorage]]:
    """Runs `op` in two processes that have both begun, beside `others`, and returns the results of every schedule."""

    def make() -> tuple[list[Any], DictStorage]:
        storage = make_table()
        begun: list[Any] = []

        def writer(op: Op, who: str, transaction_id: str) -> Callable[[Step], Any]:
            paused: list[Step] = []
            transaction = begin(stepped(storage, lambda: paused[0]() if paused else None), op, who)
            transaction.identify(transaction_id)
            begun.append(transaction)

            def write(step: Step) -> Any:
                paused.append(step)
                return outcome_of(transaction)

            return write

        writers = [writer(op, who, ID) for who in ("x", "y")]
        writers += [writer(other, f"z{at}", str(uuid.UUID(int=at))) for at, other in enumerate(others)]
        return writers, storage

    return [(run.results, storage) for run, storage in explore(make, switches_max=3)]


def delta_versions(storage: DictStorage) -> list[int]:
    """Returns the versions with the id."""
    newest = Snapshot.load(storage).version
    infos = {version: Snapshot.load(storage, version).commit_info for version in range(newest + 1)}
    return [version for version, info in infos.items() if info is not None and info.txn_id == ID]


def iceberg_versions(storage: DictStorage) -> list[int]:
    metadata = iceberg_histories.format_over(storage).load(storage.root).metadata
    found = metadata.snapshots.values()
    return [info.snapshot_id for info in found if info.summary.get("gateway.transaction-id") == ID]


@pytest.mark.parametrize("op", [*OPS, histories.SET_PROPERTY, histories.RESTORE], ids=lambda op: op.name)
def test_two_processes_commit_a_delta_statement_once(op: Op) -> None:
    runs = explored(histories.table_in_memory, begun_on_delta, test_two_writers.stepped, op)
    assert len(runs) > 1
    for results, storage in runs:
        (version,) = delta_versions(storage)
        assert sorted(results) == [("committed", version), ("found", version)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_two_processes_commit_an_iceberg_statement_once(op: Op) -> None:
    def make_table() -> DictStorage:
        return iceberg_histories.table_in_memory(_EMPTY)

    runs = explored(make_table, iceberg_histories.begin, test_iceberg_writers.stepped, op)
    assert len(runs) > 1
    for results, storage in runs:
        (version,) = iceberg_versions(storage)
        assert sorted(results) == [("committed", version), ("found", version)]


def test_an_appending_writer_between_them_does_not_hide_the_commit() -> None:
    runs = explored(
        histories.table_in_memory, begun_on_delta, test_two_writers.stepped, histories.APPEND_A, (histories.APPEND_B,)
    )
    for results, storage in runs:
        (version,) = delta_versions(storage)
        assert sorted(results[:2]) == [("committed", version), ("found", version)]
        assert results[2][0] == "committed"
    assert {results[2][1] for results, _ in runs} == {1, 2}


def test_commit_of_another_process_at_the_same_version_is_not_taken_for_the_own_one() -> None:
    """Its bytes differ, although it has the id: the files of this process are in no version."""
    storage = histories.table_in_memory()
    transactions = [begun_on_delta(storage, histories.APPEND_A, who) for who in ("x", "y")]
    for transaction in transactions:
        transaction.identify(ID)
    assert [outcome_of(transaction) for transaction in transactions] == [("committed", 1), ("found", 1)]
    rows = {row for file in histories.state_of(Snapshot.load(storage)).files for row in file.rows}
    assert rows == {"basea", "baseb", "x"}
