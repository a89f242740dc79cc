"""Cancellation during a commit: a committed statement is not reported as canceled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import StatementCancelled
from catalog.store.file_store import FileStore
from engine.delta.commit import transaction
from engine.delta.commit.committer import put_commit
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.bare_lake import BareLake

PROPERTY = "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')"


@pytest.fixture
def lake(tmp_path: Path) -> BareLake:
    made = BareLake(tmp_path)
    made.answer("CREATE TABLE t (id BIGINT)")
    return made


def context() -> StatementRequest:
    return StatementRequest(identity=Identity("ann"))


def cancelling(request: StatementRequest, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `inner`, with the statement canceled halfway through it."""

    def cancelled(*arguments: Any, **options: Any) -> Any:
        request.cancel.cancel()
        return inner(*arguments, **options)

    return cancelled


@pytest.mark.parametrize("text", ["CREATE TABLE u (id BIGINT)", PROPERTY, "TRUNCATE TABLE t"])
def test_a_version_that_is_put_is_the_outcome(lake: BareLake, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    lake.append("t", {"id": [1]})
    run = context()
    monkeypatch.setattr(transaction, "put_commit", cancelling(run, put_commit))
    lake.answer(text, run)
    assert run.cancel.reason is None


@pytest.mark.parametrize("text", ["CREATE SCHEMA s", "COMMENT ON SCHEMA default IS 'x'", "DROP TABLE t"])
def test_a_change_of_the_catalog_is_the_outcome(lake: BareLake, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    run = context()
    monkeypatch.setattr(FileStore, "swap", cancelling(run, FileStore.swap))
    lake.answer(text, run)
    assert run.cancel.reason is None


def test_a_version_that_another_writer_made_first_is_no_outcome(
    lake: BareLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, puts = context(), list[int]()

    def lose(*_: Any) -> bool:
        puts.append(1)
        run.cancel.cancel()
        return False

    monkeypatch.setattr(transaction, "put_commit", lose)
    with pytest.raises(StatementCancelled):
        lake.answer(PROPERTY, run)
    assert puts == [1]
