"""A query over the same files runs its previous tasks again; over other files it is planned again.

The profile's steps show it. The answer is compared with that of a new plan.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.fresh_plans import afresh

pytestmark = pytest.mark.spark

ANN = Identity("ann")


def run_query(session: LakeSession, text: str) -> tuple[list[Any], bool]:
    """Returns the rows, and if the query ran again without planning."""
    request = StatementRequest(identity=ANN)
    result = session.execute(text, request)
    rows = [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
    result.close()
    return rows, "planning" not in request.profile.steps


def run_afresh(session: LakeSession, text: str) -> list[Any]:
    """Returns the rows by a plan that is made for it."""
    rows, again = run_query(session, afresh(text))
    assert not again
    return rows


def run(session: LakeSession, text: str) -> None:
    list(session.execute(text, StatementRequest(identity=ANN)).batches())


@pytest.fixture(scope="module", autouse=True)
def tables(engine: LakeEngine) -> None:
    session = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE ran (id BIGINT, k INT, s STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    run(session, "INSERT INTO ran SELECT id, CAST(id % 5 AS INT), 's' || id % 7 FROM range(200)")
    run(session, "CREATE TABLE kinds AS SELECT CAST(id AS INT) AS k, 'kind ' || id AS kind FROM range(5)")
    run(session, "CREATE TABLE parted (id BIGINT, p STRING) PARTITIONED BY (p)")
    run(session, "INSERT INTO parted SELECT id, CAST(id % 3 AS STRING) FROM range(30)")
    run(session, "CREATE TABLE many (id BIGINT)")
    run(session, "CREATE TABLE halves (id BIGINT, v DOUBLE)")
    for start in (0, 300_000):
        text = f"SELECT id, sin(id) AS v FROM range({start}, {start} + 300000, 1, 1)"
        run(session, f"INSERT INTO halves {text}")
    for start in (0, 10):
        run(session, f"INSERT INTO many SELECT id FROM range({start}, {start} + 10)")
    session.close()


AGAIN = (
    # a query, whether it runs again
    ("SELECT k, count(*), sum(id) FROM ran GROUP BY k ORDER BY k", True),
    ("SELECT id, s FROM ran WHERE id = 17", True),
    ("SELECT id FROM ran WHERE s = 's3' ORDER BY id DESC LIMIT 5", True),
    ("SELECT kind, count(*) FROM ran JOIN kinds USING (k) GROUP BY kind ORDER BY kind", True),
    ("SELECT id, sum(id) OVER (PARTITION BY k ORDER BY id) FROM ran WHERE id < 20 ORDER BY id", True),
    ("SELECT id, p FROM parted WHERE p = '1' ORDER BY id", True),
    ("SELECT k FROM ran WHERE id < 9 UNION SELECT k FROM kinds ORDER BY k", True),
    ("SELECT count(*), sum(id), avg(id) FROM halves WHERE v > 0.5", True),  # two tasks
    ("SELECT count(*), sum(id) FROM halves WHERE id > 5 AND v IS NOT NULL", True),  # without generated code
    ("SELECT id % 3 AS m, count(DISTINCT id) FROM halves GROUP BY m HAVING max(v) > 0 ORDER BY m", True),
    ("SELECT id FROM halves WHERE v > 0.999999 ORDER BY id", False),  # rows that are exchanged as they are
    ("SELECT id FROM ran WHERE id > (SELECT avg(id) + 90 FROM ran) ORDER BY id", False),  # holds the subquery's value
    ("SELECT /*+ REPARTITION(3) */ sum(id) FROM ran", True),
    ("SELECT count(*) FROM ran a JOIN kinds b ON a.k < b.k", False),  # adaptive
    ("SELECT id FROM ran WHERE k = 2 LIMIT 3", True),
    ("SELECT id FROM ran LIMIT 3 OFFSET 2", True),
    ("SELECT id FROM many LIMIT 3", False),  # needs one file, and another one if that has fewer
    ("SELECT id, rand() < 2 FROM ran WHERE id < 3 ORDER BY id", False),
)


@pytest.mark.parametrize(("text", "again"), AGAIN, ids=[row[0] for row in AGAIN])
def test_queries_that_are_executed_again(session: LakeSession, text: str, again: bool) -> None:
    expected = run_afresh(session, text)
    assert run_query(session, text) == (expected, False)
    for _ in range(3):
        assert run_query(session, text) == (expected, again)


def test_changed_files_invalidate_the_cached_plan(session: LakeSession) -> None:
    """For any change in files: more files, others with the same size, deletion vectors, other columns."""
    run(session, "CREATE TABLE changing (id INT, s STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    texts = (
        "SELECT count(*), sum(id), min(s), max(s) FROM changing WHERE id >= 0",
        "SELECT id, s FROM changing WHERE id BETWEEN 3 AND 5 ORDER BY id, s",
        "SELECT kind, count(*) FROM changing JOIN kinds ON id = k GROUP BY kind ORDER BY kind",
    )
    changes = (
        "INSERT INTO changing SELECT CAST(id AS INT), 'a' FROM range(10)",
        "DELETE FROM changing WHERE id = 3",
        "DELETE FROM changing WHERE id = 4",
        "INSERT OVERWRITE changing SELECT CAST(id AS INT), 'b' FROM range(10)",
        "INSERT OVERWRITE changing SELECT CAST(id AS INT), 'c' FROM range(10)",
        "UPDATE changing SET s = 'd' WHERE id = 5",
        "OPTIMIZE changing",
        "INSERT INTO changing VALUES (3, 'e')",
        "RESTORE TABLE changing TO VERSION AS OF 5",
        "ALTER TABLE changing ADD COLUMN later INT",
        "DELETE FROM changing",
    )
    for change in changes:
        run(session, change)
        for text in texts:
            expected = run_afresh(session, text)
            rows, again = run_query(session, text)
            assert rows == expected, change
            assert not again or change.startswith("RESTORE"), change  # to files that it did run over
            assert run_query(session, text)[0] == expected, change


def test_versions_have_separate_cache_entries(session: LakeSession) -> None:
    run(session, "CREATE TABLE versions AS SELECT 1 AS id")
    run(session, "INSERT OVERWRITE versions SELECT 2 AS id")
    for version, found in ((0, 1), (1, 2), (0, 1), (1, 2)):
        assert run_query(session, f"SELECT id FROM versions VERSION AS OF {version} WHERE id > 0")[0] == [(found,)]


def test_sessions_run_it_under_their_own_settings(engine: LakeEngine) -> None:
    strict, loose = (engine.open_session(ANN, settings={}, catalog=None, schema=None) for _ in range(2))
    run(loose, "SET spark.sql.ansi.enabled = false")
    text = "SELECT id, CAST(s AS INT) AS n FROM ran WHERE id < 2 ORDER BY id"
    for again in (False, True, True):
        assert run_query(loose, text) == ([(0, None), (1, None)], again)
        with pytest.raises(SqlError, match="CAST_INVALID_INPUT"):
            run_query(strict, text)
    third = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    run(third, "SET spark.sql.ansi.enabled = false")
    loose.close()
    assert run_query(third, text) == ([(0, None), (1, None)], True)
    third.close()
    strict.close()


def test_writes_and_the_same_query_at_once(engine: LakeEngine, session: LakeSession) -> None:
    """Each answer matches a version: the sum equals that after as many inserts as counted, and never decreases."""
    run(session, "CREATE TABLE growing (n BIGINT)")
    run(session, "INSERT INTO growing VALUES (1)")
    text = "SELECT count(*), sum(n) FROM growing WHERE n > 0"

    def reads() -> list[bool]:
        own = engine.open_session(ANN, settings={}, catalog=None, schema=None)
        last, found = 0, []
        for _ in range(12):
            ((count, total),), again = run_query(own, text)
            assert total == count * (count + 1) // 2
            assert count >= last
            last = count
            found.append(again)
        own.close()
        return found

    def writes() -> None:
        for n in range(2, 7):
            run(session, f"INSERT INTO growing VALUES ({n})")

    with ThreadPoolExecutor(4) as threads:
        writing = threads.submit(writes)
        reading = [threads.submit(reads) for _ in range(3)]
        assert any(any(each.result()) for each in reading), "some ran again"
        writing.result()
