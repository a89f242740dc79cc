"""`(DESCRIBE HISTORY t)` in a query requires the privileges that the statement requires."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.guarded_lake import GuardedLake


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    folder = tmp_path / "lake"
    folder.mkdir()
    found = GuardedLake(folder)
    found.table("shop/t")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO ann",
        "GRANT USE SCHEMA ON SCHEMA shop TO mal",
        "GRANT SELECT ON shop.t TO ann",
        "GRANT MODIFY ON shop.t TO mal",
    )
    return found


@pytest.mark.parametrize(("who", "outcome"), [("ann", "R"), ("mal", "42501"), ("bob", "42P01")])
@pytest.mark.parametrize("text", ["DESCRIBE HISTORY shop.t", "SELECT version FROM (DESCRIBE HISTORY shop.t)"])
def test_history_requires_select(lake: GuardedLake, who: str, outcome: str, text: str) -> None:
    assert lake.outcome(who, text) == outcome
