"""Cached tasks from a query's last run, after a change in their inputs.

Each answer is compared with that of a new plan.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import StatementCancelled
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.fresh_plans import afresh

pytestmark = pytest.mark.spark

ANN = Identity("ann")
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')"


def run_query(session: LakeSession, text: str, *parameters: Parameter) -> tuple[list[Any], bool]:
    """Returns the rows, and if the query ran again without planning."""
    request = StatementRequest(identity=ANN)
    result = session.execute(text, request, parameters)
    rows = [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
    result.close()
    return rows, "planning" not in request.profile.steps


def ensure_same(session: LakeSession, text: str) -> bool:
    """Returns if the second run used cached tasks."""
    expected = run_query(session, afresh(text))
    assert not expected[1]
    assert run_query(session, text)[0] == expected[0], text
    again = run_query(session, text)
    assert again[0] == expected[0], text
    return again[1]


def run(session: LakeSession, *texts: str) -> None:
    for text in texts:
        session.execute(text, StatementRequest(identity=ANN)).close()


CHANGES = (
    # the setup, the query, the change
    (
        "names of columns",
        (f"CREATE TABLE x (a INT, b INT) {MAPPED}", "INSERT INTO x VALUES (1, 2), (3, 4)"),
        "SELECT a, b FROM x WHERE a > 0 ORDER BY a",
        (
            "ALTER TABLE x RENAME COLUMN a TO c",
            "ALTER TABLE x RENAME COLUMN b TO a",
            "ALTER TABLE x RENAME COLUMN c TO b",
        ),
    ),
    (
        "a column of the same name",
        (f"CREATE TABLE x (a INT, b INT) {MAPPED}", "INSERT INTO x VALUES (1, 2), (3, 4)"),
        "SELECT a, b FROM x WHERE a > 0 ORDER BY a",
        ("ALTER TABLE x DROP COLUMN b", "ALTER TABLE x ADD COLUMN b INT", "INSERT INTO x VALUES (5, 6)"),
    ),
    (
        "a type",
        (
            "CREATE TABLE x (a INT, b INT) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
            "INSERT INTO x VALUES (1, 2)",
        ),
        "SELECT a, sum(b) FROM x WHERE a > 0 GROUP BY a",
        ("ALTER TABLE x ALTER COLUMN b TYPE BIGINT", "INSERT INTO x VALUES (1, 9223372036854775000)"),
    ),
    (
        "a default of old rows",
        (f"CREATE TABLE x (a INT, b INT) {MAPPED}", "INSERT INTO x VALUES (1, 2)"),
        "SELECT * FROM x WHERE a > 0",
        ("ALTER TABLE x ADD COLUMN c STRING", "INSERT INTO x VALUES (3, 4, 'x')", "DELETE FROM x WHERE a = 1"),
    ),
    (
        "partitions",
        ("CREATE TABLE x (a INT, p STRING) PARTITIONED BY (p)", "INSERT INTO x VALUES (1, 'x'), (2, 'y')"),
        "SELECT p, sum(a) FROM x WHERE p >= 'x' GROUP BY p ORDER BY p",
        ("INSERT INTO x VALUES (5, 'x')", "DELETE FROM x WHERE p = 'y'", "UPDATE x SET p = 'z' WHERE a = 1"),
    ),
    (
        "times of partitions",
        (
            "CREATE TABLE x (a INT, p TIMESTAMP) PARTITIONED BY (p)",
            "INSERT INTO x VALUES (1, TIMESTAMP '2026-01-01 10:00:00')",
        ),
        "SELECT CAST(p AS STRING), a FROM x WHERE p > TIMESTAMP '2025-01-01 00:00:00'",
        (
            "SET TIME ZONE 'Asia/Tokyo'",
            "INSERT INTO x VALUES (2, TIMESTAMP '2026-01-01 10:00:00')",
            "SET TIME ZONE 'UTC'",
        ),
    ),
    (
        "times",
        ("CREATE TABLE x (a INT, t TIMESTAMP)", "INSERT INTO x VALUES (1, TIMESTAMP '2026-01-01 10:00:00Z')"),
        "SELECT a, hour(t), CAST(t AS STRING), date_trunc('day', t) FROM x WHERE a = 1",
        ("SET TIME ZONE 'Asia/Tokyo'", "SET TIME ZONE 'America/New_York'", "SET TIME ZONE 'UTC'"),
    ),
    (
        "places of rows",
        (f"CREATE TABLE x (a INT, b INT) {MAPPED}", "INSERT INTO x SELECT id, id FROM range(0, 20, 1, 1)"),
        "SELECT a, _metadata.row_index, _metadata.file_path, _metadata.file_size FROM x WHERE a < 9 ORDER BY a",
        ("DELETE FROM x WHERE a = 3", "UPDATE x SET b = 7 WHERE a = 4", "OPTIMIZE x", "REORG TABLE x APPLY (PURGE)"),
    ),
    (
        "the other side of a join",
        ("CREATE TABLE x AS SELECT id AS a FROM range(50)", "CREATE TABLE y AS SELECT 1L AS a, 'one' AS s"),
        "SELECT x.a, s FROM x JOIN y ON x.a = y.a WHERE x.a < 40 ORDER BY x.a, s",
        (
            "INSERT INTO y VALUES (2, 'two')",
            "UPDATE y SET s = 'uno' WHERE a = 1",
            "DELETE FROM y",
            "INSERT INTO y VALUES (3, 'x')",
        ),
    ),
    (
        "settings",
        ("CREATE TABLE x AS SELECT 1 AS a, '7' AS s", "SET spark.sql.ansi.enabled = false"),
        "SELECT a, CAST(s AS INT) FROM x WHERE a = 1",
        ("UPDATE x SET s = 'q'", "RESET spark.sql.ansi.enabled", "SET spark.sql.ansi.enabled = false"),
    ),
    (
        "functions",
        ("CREATE TABLE x AS SELECT 1 AS a", "CREATE FUNCTION f(a INT) RETURNS INT RETURN a + 1"),
        "SELECT f(a) FROM x WHERE a = 1",
        ("CREATE OR REPLACE FUNCTION f(a INT) RETURNS INT RETURN a + 2",),
    ),
    (
        "an Iceberg table",
        ("CREATE TABLE x USING iceberg AS SELECT 1 AS a, 2 AS b",),
        "SELECT a, sum(b) FROM x WHERE a > 0 GROUP BY a ORDER BY a",
        (
            "INSERT INTO x VALUES (2, 3)",
            "DELETE FROM x WHERE a = 1",
            "ALTER TABLE x RENAME COLUMN a TO c",
            "ALTER TABLE x RENAME COLUMN b TO a",
            "ALTER TABLE x RENAME COLUMN c TO b",
        ),
    ),
)


@pytest.mark.parametrize(("name", "made", "text", "changes"), CHANGES, ids=[row[0] for row in CHANGES])
def test_a_change_is_seen(
    session: LakeSession, name: str, made: tuple[str, ...], text: str, changes: tuple[str, ...]
) -> None:
    schema = name.replace(" ", "_")
    run(session, f"CREATE SCHEMA {schema}", f"USE {schema}", *made)

    def answers() -> bool | str | None:
        try:
            return ensure_same(session, text)
        except SqlError as error:
            for _ in range(2):
                with pytest.raises(SqlError) as again:
                    run_query(session, text)
                assert again.value.condition == error.condition
            return error.condition

    assert answers() is True, "it ran again"
    for change in changes:
        run(session, change)
        assert answers(), change


def test_files_that_are_gone_are_named_each_time(session: LakeSession) -> None:
    run(session, "CREATE TABLE swept AS SELECT 1 AS a", "INSERT OVERWRITE swept SELECT 2 AS a")
    text = "SELECT a FROM swept VERSION AS OF 0 WHERE a > 0"
    assert ensure_same(session, text)
    run(session, "SET spark.databricks.delta.retentionDurationCheck.enabled = false", "VACUUM swept RETAIN 0 HOURS")
    for _ in range(3):
        with pytest.raises(SqlError) as caught:
            run_query(session, text)
        assert caught.value.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    assert run_query(session, "SELECT a FROM swept WHERE a > 0")[0] == [(2,)]


def test_a_file_that_comes_back_is_read_again(lake: Path, session: LakeSession) -> None:
    run(session, "CREATE TABLE hidden AS SELECT 1 AS a")
    text = "SELECT a FROM hidden WHERE a > 0"
    assert ensure_same(session, text)
    (file,) = (lake / "default" / "hidden").glob("*.parquet")
    file.rename(lake / "elsewhere")
    with pytest.raises(SqlError) as caught:
        run_query(session, text)
    assert caught.value.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    (lake / "elsewhere").rename(file)
    assert ensure_same(session, text)


SLOW = "aggregate(sequence(1, 20000), 0L, (a, x) -> a + x) > 0"


def test_cached_execution_can_be_cancelled(session: LakeSession) -> None:
    run(session, "CREATE TABLE long AS SELECT id AS a FROM range(0, 300, 1, 1)")
    text = f"SELECT count(*) FROM long WHERE {SLOW}"
    assert ensure_same(session, text)
    for _ in range(2):
        cancel = CancelToken()
        timer = threading.Timer(0.1, cancel.cancel)
        timer.start()
        with pytest.raises(StatementCancelled):
            list(session.execute(text, StatementRequest(identity=ANN, cancel=cancel)).batches())
        timer.join()
    assert run_query(session, text)[0] == [(300,)]
    assert ensure_same(session, text)


@pytest.mark.slow
def test_the_same_query_many_times_at_once(engine: LakeEngine, session: LakeSession) -> None:
    """Queries with one stage, two stages and a join, in separate sessions and in one; some are canceled."""
    run(
        session,
        "CREATE TABLE busy (id BIGINT, k INT, v DOUBLE)",
        *(
            f"INSERT INTO busy SELECT id, CAST(id % 5 AS INT), sin(id) FROM range({at}, {at} + 300000, 1, 1)"
            for at in (0, 300_000)
        ),
        "CREATE TABLE busy_kinds AS SELECT CAST(id AS INT) AS k, 'kind ' || id AS kind FROM range(5)",
    )
    texts = (
        "SELECT k, count(*), sum(id), round(sum(v), 3) FROM busy GROUP BY k ORDER BY k",
        "SELECT id FROM busy WHERE id BETWEEN 1000 AND 1020 ORDER BY id",
        "SELECT kind, count(*) FROM busy JOIN busy_kinds USING (k) WHERE id < 1000 GROUP BY kind ORDER BY kind",
    )
    expected = {text: run_query(session, text)[0] for text in texts}

    def reads(number: int) -> int:
        own = session if number % 2 else engine.open_session(ANN, settings={}, catalog=None, schema=None)
        again = 0
        for round_number in range(12):
            text = texts[(number + round_number) % len(texts)]
            if round_number % 4 == 3:
                cancel = CancelToken()
                threading.Timer(0.01 * round_number, cancel.cancel).start()
                try:
                    list(own.execute(text, StatementRequest(identity=ANN, cancel=cancel)).batches())
                except StatementCancelled:
                    continue
            rows, remaining = run_query(own, text)
            assert rows == expected[text]
            again += remaining
        return again

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(reads, range(6))) > 0
