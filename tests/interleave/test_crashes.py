"""A writer dies between any two storage calls, or at any system call: the table stays consistent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.delta.commit.transaction import Committed
from engine.delta.maintenance.after_commit import HOOKS, PostCommit
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import Storage, open_storage
from tests.interleave import histories
from tests.interleave.histories import Op, check_history, create_table, run_op
from tests.interleave.storages import DictStorage, Interposed


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


class Fuse:
    """Burns down by one for each call; at the end it blows."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def burn(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Crash


def statement(storage: Storage, op: Op, who: str) -> Committed:
    """Runs a whole statement with its post-commit work; hooks run unguarded, so that a crash propagates."""

    def maintain(committed: Committed) -> None:
        for hook in HOOKS:
            hook(PostCommit(committed))

    committed: Committed = run_op(storage, op, who, lambda: None, maintain)
    return committed


def crash_at_every_call(make: Callable[[], Storage], run: Callable[[Storage, Fuse], Any]) -> int:
    """Runs with longer and longer fuses until nothing blows; after each crash the table must be whole and writable."""
    calls = 0
    while True:
        storage = make()
        create_table(storage, {"delta.checkpointInterval": "1"})
        ops = {"x": histories.REWRITE_A, "after": histories.APPEND_B, "later": histories.REWRITE_A}
        try:
            run(storage, Fuse(calls))
        except Crash:
            result: Any = None
        else:
            return calls
        check_history(storage, ops, {"x": result})
        later = {who: statement(storage, ops[who], who) for who in ("after", "later")}
        check_history(storage, ops, {"x": result, **later})
        assert Snapshot.load(storage).log_segment.checkpoint is not None
        calls += 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_before_or_after_any_storage_call_leaves_the_table_whole(when: str) -> None:
    def run(storage: Storage, fuse: Fuse) -> None:
        def around(method: str, name: str, do: Callable[[], Any]) -> Any:
            if when == "before":
                fuse.burn()
            result = do()
            if when == "after":
                fuse.burn()
            return result

        statement(Interposed(storage, around), histories.REWRITE_A, "x")

    assert crash_at_every_call(DictStorage, run) > 10


def test_a_crash_at_any_system_call_of_a_local_write_leaves_the_table_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = iter(range(10_000))

    def make() -> Storage:
        return open_storage(str(tmp_path / str(next(roots))))

    def run(storage: Storage, fuse: Fuse) -> None:
        with monkeypatch.context() as patch:
            for name in ("open", "fsync", "link", "unlink", "replace"):
                patch.setattr(f"engine.storage.put_if_absent.os.{name}", _fused(getattr(os, name), fuse))
            statement(storage, histories.REWRITE_A, "x")

    assert crash_at_every_call(make, run) > 10


def _fused(call: Callable[..., Any], fuse: Fuse) -> Callable[..., Any]:
    def burn_and_call(*arguments: Any, **options: Any) -> Any:
        fuse.burn()
        return call(*arguments, **options)

    return burn_and_call
