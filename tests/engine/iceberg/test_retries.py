"""`commit.retry.*`: how often a commit that loses is tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.concurrency.retry import RetryPolicy
from engine.iceberg.commit.file_store import FileMetadataStore
from engine.iceberg.definition.properties import retries_of
from tests.engine.bare_lake import BareLake


def test_properties_say_some_of_it() -> None:
    given = {
        "commit.retry.num-retries": "4",
        "commit.retry.min-wait-ms": "100",
        "commit.retry.total-timeout-ms": "5000",
    }
    found = retries_of(given, RetryPolicy())
    assert (found.rebases_max, found.pause_min_s, found.rebase_s_max) == (5, 0.1, 5.0)
    assert found.pause_max_s == RetryPolicy().pause_max_s
    nonsense = dict.fromkeys(given, "-1") | {"commit.retry.max-wait-ms": "soon"}
    assert retries_of(nonsense, RetryPolicy()).rebases_max == RetryPolicy().rebases_max
    policy = RetryPolicy()
    assert retries_of(dict.fromkeys(given, "9" * 400), policy) == policy


@pytest.mark.parametrize("retries", [0, 2])
def test_a_table_limits_its_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int) -> None:
    lake = BareLake(tmp_path)
    lake.answer(f"CREATE TABLE t (id INT) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '{retries}')")
    lost: list[Any] = []
    monkeypatch.setattr(FileMetadataStore, "commit", lambda store, base, *more: lost.append(base))
    error = lake.refuse("ALTER TABLE t ADD COLUMN s STRING")
    assert error.condition == "ICEBERG_COMMIT_ATTEMPTS_EXCEEDED"
    assert len(lost) == retries + 1
