"""Storages that fail around a put: the answer is lost, the put is repeated, arrives late, or never happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from catalog.conditions import CommitOutcomeUnknown, ConcurrentAppend, LogWriteFailed
from engine.delta.commit.transaction import Committed
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.confirmed_put import StorageRetries
from tests.interleave import histories
from tests.interleave.histories import begin, check_history, create_table
from tests.interleave.storages import DictStorage, Interposed

Put: TypeAlias = Callable[[], bool]

RETRIES = StorageRetries(tries_max=4, sleep=lambda _: None)


def done(put: Put) -> bool:
    return put()


def answer_lost(put: Put) -> bool:
    put()
    raise TimeoutError("the answer was lost")


def connection_closed(put: Put) -> bool:
    """Raises a client failure that is not an `OSError`."""
    put()
    raise EOFError("the connection was closed before the answer")


def never_happened(put: Put) -> bool:
    raise TimeoutError("the request was lost")


def repeated_by_the_client(put: Put) -> bool:
    """Simulates an object store client that repeats a request after a lost response, and finds its own file."""
    put()
    return put()


class Late:
    """The request is reported as lost, and arrives just before the next call."""

    def __init__(self) -> None:
        self.waiting: list[Put] = []

    def __call__(self, put: Put) -> bool:
        self.waiting.append(put)
        raise TimeoutError("no answer yet")

    def arrive(self) -> None:
        while self.waiting:
            self.waiting.pop()()


def failing(storage: DictStorage, script: list[Callable[[Put], bool]], reads: list[bool] | None = None) -> Interposed:
    """Makes puts follow the script in order, and then succeed; `reads` selects failing commit reads."""
    puts = itertools.chain(script, itertools.repeat(done))
    failures = itertools.chain(reads or [], itertools.repeat(False))
    late = [step for step in script if isinstance(step, Late)]

    def around(method: str, name: str, do: Any) -> Any:
        if method == "put":
            step = next(puts)
            if not isinstance(step, Late):
                for one in late:
                    one.arrive()
            return step(do)
        for one in late:
            one.arrive()
        if method in ("read", "exists") and name.endswith(".json") and next(failures):
            raise TimeoutError("no answer")
        return do()

    return Interposed(storage, around)


@pytest.mark.parametrize("is_contended", [False, True], ids=["alone", "another writer was first"])
@pytest.mark.parametrize(
    "script",
    [
        [answer_lost],
        [connection_closed],
        [never_happened, connection_closed],
        [never_happened],
        [repeated_by_the_client],
        [never_happened, answer_lost],
        [never_happened, repeated_by_the_client],
        [never_happened, never_happened, never_happened],
        [Late()],
        [never_happened, Late()],
    ],
    ids=lambda script: ", ".join(getattr(step, "__name__", "late") for step in script),
)
def test_a_put_of_unknown_outcome_commits_once(script: list[Callable[[Put], bool]], is_contended: bool) -> None:
    storage = DictStorage()
    create_table(storage)
    before = Snapshot.load(storage)
    ops = {"x": histories.APPEND_A, "y": histories.APPEND_B}
    if is_contended:
        begin(before, histories.APPEND_B, "y").commit()
    transaction = begin(before, histories.APPEND_A, "x")
    transaction.storage = failing(storage, script)
    committed = transaction.commit(storage_retries=RETRIES)
    assert committed.version == (2 if is_contended else 1)
    check_history(storage, ops, {"x": committed})


def test_a_lost_answer_is_no_excuse_for_a_conflict() -> None:
    storage = DictStorage()
    create_table(storage)
    before = Snapshot.load(storage)
    begin(before, histories.APPEND_A, "y").commit()
    transaction = begin(before, histories.REWRITE_A, "x")
    transaction.storage = failing(storage, [answer_lost])
    with pytest.raises(ConcurrentAppend):
        transaction.commit(storage_retries=RETRIES)


@pytest.mark.parametrize("failed_reads", [1, 2])
def test_the_outcome_is_read_back_until_it_can_be_read(failed_reads: int) -> None:
    storage = DictStorage()
    create_table(storage)
    transaction = begin(Snapshot.load(storage), histories.APPEND_A, "x")
    transaction.storage = failing(storage, [answer_lost], [True] * failed_reads)
    committed = transaction.commit(storage_retries=RETRIES)
    assert isinstance(committed, Committed)
    check_history(storage, {"x": histories.APPEND_A}, {"x": committed})


def test_an_outcome_that_cannot_be_read_is_reported_as_unknown() -> None:
    storage = DictStorage()
    create_table(storage)
    transaction = begin(Snapshot.load(storage), histories.APPEND_A, "x")
    transaction.storage = failing(storage, [answer_lost], [True] * 10)
    with pytest.raises(CommitOutcomeUnknown, match="txn-x") as raised:
        transaction.commit(storage_retries=RETRIES)
    assert raised.value.sqlstate == "08007"
    check_history(storage, {"x": histories.APPEND_A}, {"x": None})


def test_a_storage_that_refuses_is_a_plain_failure() -> None:
    def refused(_: Put) -> bool:
        raise PermissionError(13, "Permission denied")

    storage = DictStorage()
    create_table(storage)
    transaction = begin(Snapshot.load(storage), histories.APPEND_A, "x")
    transaction.storage = failing(storage, [refused])
    with pytest.raises(LogWriteFailed):
        transaction.commit(storage_retries=RETRIES)
    check_history(storage, {}, {})
