"""Two servers concurrently replace and drop one table, and one view: each statement succeeds or reports why not.

All rows that a statement reads come from one writer. In the end the name resolves to a whole table or to nothing.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 10
SECONDS = 6


@pytest.fixture
def servers(tmp_path: Path, spark_driver: SparkDriver) -> Iterator[list[LakeSession]]:
    """Yields sessions from two servers in turn."""
    engines = [LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), spark_driver) for _ in range(2)]
    opened = [
        engines[number % 2].open_session(Identity("ann"), settings={}, catalog=None, schema=None) for number in range(4)
    ]
    yield opened
    for session in opened:
        session.close()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_concurrent_replace_and_drop_leave_a_whole_table(servers: list[LakeSession], kind: str) -> None:
    ended, reported = threading.Event(), Counter[str]()

    def replaced(number: int) -> str:
        source = f"SELECT {number} AS n, id FROM range(0, {ROWS}, 1, 2)"
        return f"CREATE OR REPLACE TABLE t USING {kind} AS {source}"

    def works(session: LakeSession, texts: list[str]) -> None:
        round_number = 0
        while not ended.is_set():
            text = texts[round_number % len(texts)]
            round_number += 1
            try:
                time.sleep(0.01)
                if text.startswith("SELECT"):
                    ((count, kinds),) = rows(session, text)
                    assert (count, kinds) == (ROWS, 1), text
                else:
                    run(session, text)
                reported[text.split(" AS ")[0]] += 1
            except SqlError as error:
                assert not error.sqlstate.startswith("XX"), "a bug"
                reported[f"{text.split(' AS ')[0]}: {error.condition}"] += 1

    view = "CREATE OR REPLACE VIEW v AS SELECT {} AS n, id FROM range(10)"
    query = "SELECT count(*), count(DISTINCT n) FROM {}"
    all_texts = (
        [replaced(1), view.format(1), query.format("t")],
        [replaced(2), view.format(2), query.format("v")],
        ["DROP TABLE IF EXISTS t", query.format("v"), "DROP VIEW IF EXISTS v"],
        [query.format("t"), query.format("t"), replaced(3)],
    )
    with ThreadPoolExecutor(len(all_texts)) as pool:
        working = [pool.submit(works, session, texts) for session, texts in zip(servers, all_texts, strict=True)]
        ended.wait(SECONDS)
        ended.set()
        for each in working:
            each.result()
    assert reported[f"CREATE OR REPLACE TABLE t USING {kind}"] > 3 and reported["DROP TABLE IF EXISTS t"] > 3, reported
    for name, drop in (("t", "TABLE"), ("v", "VIEW")):
        for session in servers:
            run(session, f"DROP {drop} IF EXISTS {name}")
        with pytest.raises(SqlError) as gone:
            rows(servers[0], query.format(name))
        assert gone.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    run(servers[1], replaced(4))
    assert rows(servers[0], query.format("t")) == [(ROWS, 1)]
