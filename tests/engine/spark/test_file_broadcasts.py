"""Joins broadcast relations with small files, although their rows are estimated larger; answers stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(engine: LakeEngine, lake: Path) -> Iterator[LakeSession]:
    """Yields a session where `narrow` has some 3 MB in files, and an estimate of more than 32 MB in memory."""
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(
        session,
        "CREATE TABLE wide AS SELECT id % 70000 AS k, sha2(CAST(id AS STRING), 256) AS pad, uuid() AS a, uuid() AS b"
        " FROM range(200000)",
    )
    run(session, "CREATE TABLE narrow AS SELECT id % 60000 AS k, id % 10 AS n, 'x' AS rest FROM range(1600000)")
    yield session
    session.close()


JOINS = {
    "inner": ("wide JOIN narrow ON wide.k = narrow.k AND n = length(pad) % 10", True),
    "inner, from the left": ("narrow JOIN wide ON wide.k = narrow.k AND n = length(pad) % 10", True),
    "left semi": ("wide LEFT SEMI JOIN narrow ON wide.k = narrow.k AND n <> length(pad) % 10", True),
    "left anti": ("wide LEFT ANTI JOIN narrow ON wide.k = narrow.k", True),
    "left outer": ("wide LEFT JOIN narrow ON wide.k = narrow.k AND n = length(pad) % 10", True),
    "the side that cannot be": ("narrow LEFT JOIN wide ON wide.k = narrow.k AND n = length(pad) % 10", False),
    "full outer": ("wide FULL JOIN narrow ON wide.k = narrow.k AND n = length(pad) % 10", False),
}


@pytest.mark.parametrize(("joined", "is_broadcast"), JOINS.values(), ids=JOINS)
def test_a_side_of_few_bytes_is_broadcast(tables: LakeSession, joined: str, is_broadcast: bool) -> None:
    query = f"SELECT count(*), max(pad), max(a), max(b), sum(wide.k) FROM {joined}"
    with_estimates, plan = rows(tables, query), rows(tables, f"EXPLAIN {query}")[0][0]
    try:
        run(tables, "SET spark.sql.cbo.enabled = false")
        assert rows(tables, query) == with_estimates
        run(tables, "RESET")
        run(tables, "SET spark.sql.autoBroadcastJoinThreshold = 9MB")
        assert "BroadcastHashJoin" not in rows(tables, f"EXPLAIN {query}")[0][0], "the session's own threshold counts"
    finally:
        run(tables, "RESET")
    assert ("BroadcastHashJoin" in plan) is is_broadcast
