"""Run settings follow the input size: small queries run in one task, without exchanges; answers are the same.

The comparison is a session that sets the number of partitions, and so has Spark's planned exchanges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.profile import SparkJob
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

PARTITIONS, ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"


@pytest.fixture(scope="module")
def small(engine: LakeEngine) -> Iterator[LakeSession]:
    """Yields a session over `facts` with six files (two per partition, one with deleted rows), `names` and
    `nothing`.
    """
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE facts (id BIGINT, k INT, p STRING, x DOUBLE, s STRING, d DATE) PARTITIONED BY (p)")
    for start in (0, 40):
        texts = (
            "id, if(id % 7 = 0, NULL, CAST(id % 5 AS INT)), array('a', 'b', NULL)[CAST(id % 3 AS INT)], id / 4",
            "if(id % 11 = 0, NULL, 's' || id % 6), date_add(DATE'2024-01-01', CAST(id % 9 AS INT))",
        )
        run(session, f"INSERT INTO facts SELECT {', '.join(texts)} FROM range({start}, {start} + 40)")
    run(session, "DELETE FROM facts WHERE id IN (3, 4, 50)")
    run(session, "CREATE TABLE names AS SELECT CAST(id AS INT) AS k, 'name ' || id AS name FROM range(4)")
    run(session, "INSERT INTO names VALUES (NULL, 'none'), (2, 'twice')")
    run(session, "CREATE TABLE nothing (k INT, name STRING)")
    yield session
    session.close()


THREE = "names n JOIN names m ON n.k = m.k JOIN names o ON o.name = m.name"

PLANS = (
    # a query, whether rows are exchanged, whether it is adaptive
    ("SELECT p, sum(x) FROM facts GROUP BY p ORDER BY p", False, False),
    ("SELECT count(DISTINCT s), count(DISTINCT k) FROM facts", False, False),  # Spark expands each row into two
    ("SELECT p, k, s, id, count(*) FROM facts GROUP BY CUBE (p, k, s, id)", True, True),  # 16 rows each
    ("SELECT * FROM facts WHERE id = 7", False, False),
    ("SELECT id, rank() OVER (PARTITION BY p ORDER BY id) FROM facts", False, False),
    ("SELECT k, count(*) FROM names GROUP BY k UNION SELECT k, 1 FROM names", False, False),
    ("SELECT s FROM facts WHERE x > (SELECT avg(x) FROM facts) GROUP BY s", False, False),
    ("SELECT n.name, count(*) FROM names n JOIN names m ON n.k = m.k GROUP BY n.name", False, False),
    ("SELECT n.name, sum(x) FROM facts f JOIN names n ON f.k = n.k GROUP BY n.name", True, True),  # files may go
    (f"SELECT n.name, sum(o.k) FROM {THREE} GROUP BY n.name ORDER BY n.name", False, False),
    (f"SELECT DISTINCT k FROM (SELECT o.k FROM {THREE} UNION ALL SELECT k FROM names)", False, False),
    (
        f"SELECT sum(o.k) OVER (PARTITION BY m.name ORDER BY n.k) FROM {THREE} FULL JOIN nothing z USING (k)",
        False,
        False,
    ),
    ("SELECT k, count(*) FROM (SELECT k FROM names UNION ALL VALUES (1), (2)) GROUP BY k", True, False),  # two tasks
    ("SELECT /*+ REPARTITION(3) */ k FROM names", True, False),
    ("SELECT count(*) FROM names n JOIN names m ON n.k < m.k", True, True),
    ("SELECT e, count(*) FROM names LATERAL VIEW explode(sequence(1, k)) AS e GROUP BY e", True, True),
    ("SELECT n.name, count(*) FROM range(100) r JOIN names n ON r.id = n.k GROUP BY n.name", True, True),
    ("SELECT k, count(*) FROM nothing GROUP BY k", False, False),
)


def _plan(session: LakeSession, text: str) -> str:
    ((plan,),) = rows(session, f"EXPLAIN {text}")
    assert isinstance(plan, str)
    return plan.partition("\n== Gateway Rules ==")[0]


@pytest.mark.parametrize(("text", "exchanges", "adaptive"), PLANS, ids=[row[0] for row in PLANS])
def test_small_queries_exchange_nothing(small: LakeSession, text: str, exchanges: bool, adaptive: bool) -> None:
    plan = _plan(small, text)
    assert ("AdaptiveSparkPlan" in plan) == adaptive
    assert ("Exchange" in plan.replace("BroadcastExchange", "")) == exchanges


def test_exchanges_of_a_static_plan_have_few_partitions(small: LakeSession) -> None:
    """Reads more bytes than one task does; without adaptive execution, nothing coalesces the partitions."""
    run(small, "CREATE TABLE larger AS SELECT id % 11 AS k, sin(id) AS x, cos(id) AS y FROM range(600000)")
    text = "SELECT k, sum(x), sum(y) FROM larger GROUP BY k"
    assert re.search(r"hashpartitioning\(k#\d+L, 2\)", _plan(small, text))
    run(small, f"SET {PARTITIONS} = 3")
    assert re.search(r"hashpartitioning\(k#\d+L, 3\)", _plan(small, text))
    run(small, f"RESET {PARTITIONS}")


def test_session_settings_persist(small: LakeSession) -> None:
    text = "SELECT p, sum(x) FROM facts GROUP BY p"
    run(small, f"SET {PARTITIONS} = 3")
    assert "hashpartitioning(p" in _plan(small, text) and ", 3)" in _plan(small, text)
    run(small, f"SET {ADAPTIVE} = true")
    assert "AdaptiveSparkPlan" in _plan(small, text)
    run(small, f"RESET {PARTITIONS}")
    run(small, f"RESET {ADAPTIVE}")
    assert "Exchange" not in _plan(small, text) and "Adaptive" not in _plan(small, text)
    assert rows(small, f"SET {PARTITIONS}") != [(PARTITIONS, "1")], "the setting is the session's, not the statement's"


@pytest.mark.parametrize(
    ("join", "kind"),
    [
        ("JOIN", "ShuffledHashJoin"),
        ("LEFT JOIN", "ShuffledHashJoin"),
        ("LEFT ANTI JOIN", "ShuffledHashJoin"),
        ("FULL JOIN", "SortMergeJoin"),  # Spark would broadcast neither side
    ],
)
def test_small_joins_are_hashed_in_their_task(small: LakeSession, join: str, kind: str) -> None:
    text = f"SELECT count(*) FROM names n {join} (SELECT k FROM names WHERE name <> 'x') m ON n.k = m.k"
    plan = _plan(small, text)
    assert kind in plan and "Exchange" not in plan
    hinted = _plan(small, text.replace("SELECT", "SELECT /*+ BROADCAST(m) */", 1))
    assert ("BroadcastHashJoin" in hinted) == (join != "FULL JOIN"), "a hint is the user's"


def test_joins_are_planned_by_the_statement_s_settings(spark_driver: SparkDriver, tmp_path: Path) -> None:
    """Spark's own limit of 10 MB would have sorted these tables, and ours broadcasts them."""
    ids = pa.array(range(500_000), pa.int64())  # 24 bytes with the other column, by Spark's count
    for name in ("one", "other"):
        write_deltalake(tmp_path / "default" / name, pa.table({"id": ids, "x": ids}))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    text = "SELECT sum(a.x + b.x) FROM one a JOIN other b ON a.id = b.id"
    assert "BroadcastHashJoin" in _plan(session, text)
    write_deltalake(tmp_path / "default" / "many", pa.table({"id": pa.array([7] * 300_000, pa.int64())}))
    write_deltalake(tmp_path / "default" / "few", pa.table({"id": ids[:10]}))
    one_task = "SELECT count(*) FROM many JOIN few USING (id)"
    assert "BroadcastHashJoin" in _plan(session, one_task) and "Adaptive" not in _plan(session, one_task)
    run(session, "SET spark.sql.autoBroadcastJoinThreshold = -1")
    assert "SortMergeJoin" in _plan(session, text)
    session.close()


FIXED = (
    "SELECT count(*), sum(k), max(name) FROM nothing",
    "SELECT name, count(*) FROM nothing GROUP BY name",
    "SELECT (SELECT count(*) FROM nothing), (SELECT max(id) FROM facts WHERE p = 'a')",
    "SELECT count(*) FROM facts WHERE p = 'no such'",
    "SELECT * FROM names n FULL JOIN nothing o ON n.k = o.k",
    "SELECT id FROM facts WHERE k NOT IN (SELECT k FROM nothing)",
    "SELECT k FROM names EXCEPT ALL SELECT k FROM facts",
    "SELECT p, k, sum(x) FROM facts GROUP BY CUBE (p, k)",
    "WITH t AS (SELECT k, count(*) AS n FROM facts GROUP BY k) SELECT a.k, b.n FROM t a JOIN t b ON a.n = b.n",
    "SELECT * FROM (SELECT k, p, id FROM facts) PIVOT (count(id) FOR p IN ('a', 'b'))",
    f"SELECT n.name, sum(o.k), count(DISTINCT m.k), count(DISTINCT m.name) FROM {THREE} GROUP BY n.name",
    f"SELECT k, count(*) FROM (SELECT o.k FROM {THREE} UNION ALL VALUES (1), (2), (3)) GROUP BY k",
    f"SELECT o.k, sum(o.k) OVER (PARTITION BY n.name) FROM {THREE} WHERE n.k > (SELECT min(k) FROM names)",
    f"SELECT n.k FROM {THREE} INTERSECT SELECT k FROM names",
    "SELECT /*+ REPARTITION(3) */ k, count(*) FROM names GROUP BY k",
    "SELECT id FROM facts ORDER BY x DESC, id LIMIT 5 OFFSET 3",
    "SELECT count(*) FROM (SELECT * FROM facts LIMIT 7)",
    "SELECT f.id, n.name FROM facts f, LATERAL (SELECT max(name) AS name FROM names m WHERE m.k = f.k) n",
)


def _random_query(random: Random) -> str:
    source = random.choice(
        (
            "facts f",
            "facts f JOIN names n ON f.k = n.k",
            "facts f LEFT JOIN names n ON f.k = n.k AND n.name <> 'twice'",
            "names n RIGHT JOIN facts f USING (k)",
            "facts f JOIN facts g ON f.s = g.s AND f.id < g.id",
            "(SELECT * FROM facts WHERE p = 'a' UNION ALL SELECT * FROM facts WHERE k = 2) f",
            "(SELECT *, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM facts) f",
        )
    )
    where = random.choice(
        (
            "true",
            "f.p = 'b' OR f.p IS NULL",
            "f.id > 30 AND f.d >= DATE'2024-01-03'",
            "f.k IN (SELECT k FROM names)",
            "NOT EXISTS (SELECT 1 FROM names m WHERE m.k = f.k)",
            "f.x > (SELECT avg(x) FROM facts)",
            "f.s LIKE 's%' AND f.id % 2 = 0",
        )
    )
    key = random.choice(("f.p", "f.s", "f.d", "f.k + 1", "f.p, f.s"))
    what = random.choice(
        (
            f"SELECT {key}, count(*), sum(f.x), count(DISTINCT f.k) FROM {{0}} WHERE {{1}} GROUP BY {key}",
            f"SELECT DISTINCT {key} FROM {{0}} WHERE {{1}}",
            f"SELECT f.id, sum(f.x) OVER (PARTITION BY {key} ORDER BY f.id) FROM {{0}} WHERE {{1}}",
            f"SELECT {key}, max(f.id) FROM {{0}} WHERE {{1}} GROUP BY {key} HAVING count(*) > 2",
            "SELECT count(*), min(f.s), avg(f.x) FROM {0} WHERE {1}",
            "SELECT f.id, f.s FROM {0} WHERE {1} ORDER BY f.id, f.s LIMIT 9",
        )
    )
    return what.format(source, where)


def _sorted(session: LakeSession, text: str) -> list[str]:
    return sorted(map(repr, rows(session, text)))


def test_answers_do_not_depend_on_how_a_query_runs(small: LakeSession) -> None:
    random = Random(16)
    texts = [*FIXED, *(_random_query(random) for _ in range(5))]
    with ThreadPoolExecutor(4) as threads:  # one session, so that statements' settings meet
        found = list(threads.map(lambda text: _sorted(small, text), texts))
    run(small, f"SET {PARTITIONS} = 3")
    expected = [_sorted(small, text) for text in texts]
    run(small, f"RESET {PARTITIONS}")
    for text, ours, theirs in zip(texts, found, expected, strict=True):
        assert ours == theirs, text


SMALL_WRITES = (
    # a statement on a copy of `facts`, and if one job reads and writes
    ("INSERT INTO {t} SELECT id + 100, k, p, x, s, d FROM facts WHERE id < 30", True),
    ("INSERT INTO {t} SELECT n.k, m.k, o.name, 1.5D, m.name, DATE'2024-01-01' FROM " + THREE, True),
    ("INSERT INTO {t} SELECT max(id), k, p, sum(x), min(s), d FROM facts GROUP BY k, p, d", True),
    ("INSERT INTO {t} SELECT n.k, 1, 'a', 0, m.name, NULL FROM names n JOIN names m ON n.k < m.k", False),
    ("INSERT INTO {t} SELECT e, 1, 'a', 0, name, NULL FROM names LATERAL VIEW explode(sequence(1, k)) AS e", False),
    ("INSERT INTO {t} SELECT id, 1, 'a', 0, NULL, NULL FROM range(0, 90, 1, 5)", False),
    ("INSERT INTO {t} SELECT id, k, p, x, s, d FROM facts JOIN names USING (k)", False),  # files may go
)


@pytest.mark.diagonals("text", "order", step=2)
@pytest.mark.parametrize(("text", "is_one_job"), SMALL_WRITES, ids=[text for text, _ in SMALL_WRITES])
@pytest.mark.parametrize("order", ["", "TBLPROPERTIES ('delta.targetFileSize' = '1kb')"], ids=["", "small files"])
def test_small_writes_are_one_task_s(small: LakeSession, text: str, is_one_job: bool, order: str) -> None:
    """The rows equal those from a session that sets the number of partitions; no file is too large."""
    written, jobs = [], []
    for partitions in ("3", None):
        run(small, f"CREATE OR REPLACE TABLE copied PARTITIONED BY (p) {order} AS SELECT * FROM facts")
        run(small, f"SET {PARTITIONS} = {partitions}" if partitions else f"RESET {PARTITIONS}")
        before = set(rows(small, "SELECT DISTINCT _metadata.file_path FROM copied"))
        ran: list[SparkJob] = []
        request = StatementRequest(identity=Identity("ann"), on_jobs=ran.extend)
        small.execute(text.format(t="copied"), request).close()
        jobs.append(len(ran))
        written.append(sorted(rows(small, "SELECT * FROM copied"), key=repr))
        files = set(rows(small, "SELECT DISTINCT p, _metadata.file_path FROM copied"))
        new = [partition for partition, path in files if (path,) not in before]
        assert order or len(new) == len(set(new)), "a file for each partition"
    assert written[0] == written[1]
    assert (jobs[1] == 1) == (is_one_job and not order) and jobs[1] <= jobs[0]


CHANGES = (
    "UPDATE {t} SET x = x + 1, p = 'z' WHERE id % 3 = 0",
    "MERGE INTO {t} t USING (SELECT k, count(*) AS c FROM names GROUP BY k) n ON t.id = n.k "
    "WHEN MATCHED THEN UPDATE SET s = 'c' || c WHEN NOT MATCHED THEN INSERT (id, k, p) VALUES (c, k, 'a')",
    "MERGE INTO {t} t USING names n ON t.k = n.k AND t.id < 9 WHEN MATCHED AND t.id = 7 THEN DELETE "
    "WHEN NOT MATCHED BY SOURCE AND t.id = 8 THEN UPDATE SET p = 'y' WHEN NOT MATCHED THEN INSERT (id) VALUES (n.k)",
)


@pytest.mark.diagonals("text", "clause", step=3)
@pytest.mark.parametrize("text", CHANGES)
@pytest.mark.parametrize("clause", ["", "USING iceberg", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"])
def test_small_changes_take_fewer_jobs(small: LakeSession, text: str, clause: str) -> None:
    changed, jobs = [], []
    for partitions in ("3", None):
        run(small, "DROP TABLE IF EXISTS altered")
        run(small, f"CREATE TABLE altered {clause} AS SELECT * FROM facts WHERE id < 20")
        run(small, f"SET {PARTITIONS} = {partitions}" if partitions else f"RESET {PARTITIONS}")
        ran: list[SparkJob] = []
        request = StatementRequest(identity=Identity("ann"), on_jobs=ran.extend)
        small.execute(text.format(t="altered"), request).close()
        jobs.append(len(ran))
        changed.append(sorted(rows(small, "SELECT * FROM altered"), key=repr))
    assert changed[0] == changed[1]
    assert jobs[1] <= jobs[0] - text.startswith("MERGE")


@pytest.mark.parametrize(("branches", "is_compiled"), [(20, True), (1500, False)])
def test_huge_plan_over_few_rows_is_not_compiled_as_a_whole(
    small: LakeSession, branches: int, is_compiled: bool
) -> None:
    query = f"SELECT CASE {' '.join(f'WHEN id = {one} THEN {one + 1}' for one in range(branches))} END FROM facts"
    assert ("*(1) Project" in _plan(small, query)) is is_compiled
    expected = rows(small, f"SELECT if(id < {branches}, CAST(id AS INT) + 1, NULL) FROM facts")
    assert sorted(rows(small, query), key=repr) == sorted(expected, key=repr)
