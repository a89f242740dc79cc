"""A gateway whose executors are processes of Spark's standalone cluster or of YARN."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyhive import exc, hive

from tests.chaos.model import log_damage
from tests.clusters.executor_kills import KillRun
from tests.clusters.spark_cluster import EXECUTORS, KINDS, SparkCluster, StandaloneCluster, stopping
from tests.gateway.http.conftest import eventually
from tests.server_process import ServerProcess

API = "/api/2.0/sql/statements"
pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.spark]
# Statements, and queries whose results are those of a gateway without a cluster. `{files}` is a folder.
STATEMENTS = """
CREATE TABLE plain (k BIGINT NOT NULL, v STRING, d DECIMAL(20, 4), CONSTRAINT small CHECK (k < 100000))
INSERT INTO plain SELECT id, concat('v', id % 13), id / 7 FROM range(0, 30000, 1, 4)
INSERT INTO plain VALUES (50000, 'one row', 1.5), (50001, NULL, NULL)
INSERT INTO plain VALUES (100000, 'too large', 0)
INSERT INTO plain SELECT id, 'too large', 0 FROM range(99990, 100010, 1, 4)
UPDATE plain SET v = upper(v), d = d * 2 WHERE k % 10 = 3
DELETE FROM plain WHERE k % 7 = 1
MERGE INTO plain t USING (SELECT id * 3 AS k FROM range(0, 12000, 1, 3)) s ON t.k = s.k
  WHEN MATCHED AND t.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged'
  WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'added')
OPTIMIZE plain ZORDER BY (k)
SELECT count(*), sum(k), sum(d), count(DISTINCT v) FROM plain
SELECT * FROM plain WHERE k % 997 = 5 ORDER BY k
SELECT v, count(*) AS n, sum(d) FROM plain GROUP BY v ORDER BY n DESC, v LIMIT 20
SELECT a.k, b.v FROM plain a JOIN plain b ON a.k = b.k + 3 WHERE a.k BETWEEN 500 AND 560 ORDER BY a.k
CREATE TABLE parted (k BIGINT GENERATED ALWAYS AS IDENTITY, p INT, twice INT GENERATED ALWAYS AS (p * 2))
  PARTITIONED BY (p) TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = false)
INSERT INTO parted (p) SELECT CAST(id % 3 AS INT) FROM range(0, 3000, 1, 4)
UPDATE parted SET p = 5 WHERE p = 1
SELECT p, twice, count(*), count(DISTINCT k) FROM parted GROUP BY ALL ORDER BY p
SELECT _change_type, count(*) FROM table_changes('parted', 2) GROUP BY 1 ORDER BY 1
CREATE TABLE ice (k BIGINT, v STRING) USING iceberg
INSERT INTO ice SELECT id, concat('v', id) FROM range(0, 5000, 1, 4)
DELETE FROM ice WHERE k % 5 = 0
SELECT count(*), sum(k), min(v), max(v) FROM ice
CREATE TABLE loaded (a BIGINT, b STRING)
COPY INTO loaded FROM '{files}' FILEFORMAT = PARQUET
SELECT count(*), sum(a), max(b) FROM loaded
SELECT a % 3, count(*) FROM read_files('{files}', format => 'parquet') GROUP BY 1 ORDER BY 1
CREATE TEMPORARY VIEW doubled AS SELECT k * 2 AS k FROM plain
SELECT sum(k) FROM doubled
SELECT version, operation FROM (DESCRIBE HISTORY plain) ORDER BY version
"""


# Has a shuffle and 40 tasks.
_SORTED = "INSERT INTO t SELECT id FROM range({}, {}, 1, 40) ORDER BY sha2(CAST(id AS STRING), 512)"


def statements(files: Path) -> list[str]:
    lines = STATEMENTS.replace("\n  ", " ").strip().splitlines()
    return [line.format(files=files) for line in lines]


class Served:
    """A cluster with a gateway, or a gateway without a cluster."""

    def __init__(self, folder: Path, cluster: SparkCluster | None, **conf: str) -> None:
        self.lake, self.cluster = folder / "lake", cluster
        self.lake.mkdir(parents=True)
        given = cluster.settings(**conf) if cluster else {}
        given["GATEWAY_LAKE_ALLOWED_ROOTS"] = f'["{folder.parent.parent}"]'
        self.process = ServerProcess(folder, str(self.lake), **given)
        self.ports = self.process.ports()
        self.cursor = hive.connect("127.0.0.1", self.ports["thrift"], username="ann").cursor()

    def outcome(self, text: str) -> Any:
        """Returns the rows, or the error's text."""
        try:
            self.cursor.execute(text)
            return self.cursor.fetchall() if self.cursor.description else []
        except exc.Error as error:
            return str(error).partition(" violated by row ")[0]

    def stop(self) -> None:
        self.process.popen.terminate()
        self.process.end()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for part in range(3):
        rows = pa.table({"a": range(part * 1000, part * 1000 + 1000), "b": [f"b{row}" for row in range(1000)]})
        pq.write_table(rows, folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def expected(files: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Returns the outcomes without a cluster."""
    served = Served(files.parent / "local" / "gateway", None)
    try:
        return [served.outcome(text) for text in statements(files)]
    finally:
        served.stop()


@pytest.fixture(scope="module", params=KINDS)
def served(request: pytest.FixtureRequest, files: Path) -> Iterator[Served]:
    folder = files.parent / request.param
    folder.mkdir()
    with stopping(KINDS[request.param](folder)) as cluster:
        found = Served(folder / "gateway", cluster)
        try:
            yield found
        finally:
            found.stop()


def test_statements_have_the_outcomes_of_one_process(served: Served, files: Path, expected: list[Any]) -> None:
    texts = statements(files)
    found = [served.outcome(text) for text in texts]
    different = [
        (text, one, other) for text, one, other in zip(texts, found, expected, strict=True) if not same(one, other)
    ]
    assert different == []
    errors = {text.split()[0] for text, outcome in zip(texts, found, strict=True) if isinstance(outcome, str)}
    assert errors == {"INSERT"}, [outcome for outcome in found if isinstance(outcome, str)]
    assert log_damage(served.lake) == []


def same(found: Any, expected: Any) -> bool:
    """Returns whether outcomes are equal, but for paths and numbers of files in the metrics of OPTIMIZE."""
    if isinstance(found, list) and found and len(found[0]) == 2 and "_delta_log" not in str(found):
        if "numFilesAdded" in str(found[0][1]):
            return len(found) == len(expected)
    return bool(found == expected)


@pytest.mark.parametrize("partitions", [1, 40])
def test_results_larger_than_the_heaps(served: Served, partitions: int) -> None:
    """The driver's heap has 900 MB, and those of the executors 600 MB."""
    text = f"SELECT id, repeat(sha2(CAST(id AS STRING), 512), 8) AS t FROM range(0, 1200000, 1, {partitions})"
    body = {"statement": text, "wait_timeout": "0s", "disposition": "EXTERNAL_LINKS", "format": "ARROW_STREAM"}
    answer = request(served, "", body)
    found: dict[str, Any] = {}

    def has_ended() -> bool:
        found.update(request(served, f"/{answer['statement_id']}", None))
        return found["status"]["state"] not in ("PENDING", "RUNNING")

    assert eventually(has_ended, 300)
    assert found["status"] == {"state": "SUCCEEDED"}
    assert found["manifest"]["total_row_count"] == 1_200_000
    assert found["manifest"]["total_byte_count"] > 1_200_000_000


def test_killed_executors(served: Served) -> None:
    assert served.cluster
    run = KillRun(served.cluster, served.process, served.lake, random.Random("killed"))
    run.run(4, time.monotonic() + 240)
    assert run.violations == []
    assert run.counts["kills in statements"] >= 3, run.counts


def test_a_node_is_lost_and_another_one_is_added(tmp_path: Path) -> None:
    cluster = StandaloneCluster(tmp_path)
    with stopping(cluster):
        served = Served(tmp_path / "gateway", cluster)
        try:
            cluster.wait_for_executors()
            assert served.outcome("CREATE TABLE t (k BIGINT)") == []
            for number in range(3):
                lost = threading.Timer(0.5 + number, cluster.kill_worker)
                lost.start()
                low = number * 100_000
                assert served.outcome(_SORTED.format(low, low + 100_000)) == []
                lost.join()
                cluster.add_worker()
            assert served.outcome("SELECT count(*), count(DISTINCT k), sum(k) FROM t") == [
                (300_000, 300_000, 300_000 * 299_999 // 2)
            ]
            assert log_damage(served.lake) == []
        finally:
            served.stop()


def test_executors_come_with_statements_and_are_decommissioned(tmp_path: Path) -> None:
    cluster = StandaloneCluster(tmp_path)
    conf = {
        "spark.decommission.enabled": "true",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.executorIdleTimeout": "4s",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "4s",
        "spark.storage.decommission.enabled": "true",
        "spark.storage.decommission.shuffleBlocks.enabled": "true",
    }
    with stopping(cluster):
        served = Served(tmp_path / "gateway", cluster, **conf)
        try:
            assert served.outcome("CREATE TABLE t (k BIGINT)") == []
            assert eventually(lambda: cluster.executors() == [], 120)
            for number in range(2):
                low = number * 100_000
                leaving = threading.Timer(3, decommission, (cluster,))
                leaving.start()
                assert served.outcome(_SORTED.format(low, low + 100_000)) == []
                leaving.join()
            assert 1 <= len(cluster.executors()) <= EXECUTORS + 1
            assert served.outcome("SELECT count(*), sum(k) FROM t") == [(200_000, 200_000 * 199_999 // 2)]
        finally:
            served.stop()


def decommission(cluster: SparkCluster) -> None:
    """Asks the oldest executor to move its blocks to others and to end, as before the loss of its node."""
    os.kill(cluster.executors()[0], signal.SIGPWR)


def request(served: Served, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    url = f"http://127.0.0.1:{served.ports['http']}{API}{path}"
    content = None if body is None else json.dumps(body).encode()
    given = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(given, timeout=90) as response:
        answer: dict[str, Any] = json.loads(response.read())
        return answer
