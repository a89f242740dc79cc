"""A gateway that is killed while PySpark's remote sessions work: they continue, and nothing is written twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.clients.connect_sessions import remote_session
from tests.gateway.http.conftest import eventually
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow]

ROWS = 200_000
SLOW = "sha2(CAST(id AS STRING), 512) > ''"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("remote_recovered")
    (made / "lake").mkdir()
    return made


@pytest.fixture(scope="module")
def process(folder: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(folder, str(folder / "lake"), GATEWAY_SERVER_CONNECT_PORT="0")
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
    started.end()


@pytest.fixture
def spark(process: ServerProcess) -> Iterator[SparkSession]:
    with remote_session(process.ports()["connect"]) as session:
        yield session


def _kill(process: ServerProcess) -> None:
    """Kills the server; its parent starts the next one on the same ports."""
    killed = process.server_pid
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        with suppress(ValueError):  # there is no server at this moment
            return process.server_pid != killed
        return False

    assert eventually(is_back, START_S)


def _run_killed(process: ServerProcess, spark: SparkSession, text: str, started: str) -> list[Any]:
    """Returns the rows of a statement whose server is killed while it runs, which the history shows by `started`."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.extend(spark.sql(text).collect())
        except PySparkException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    query = f"SELECT state FROM system.gateway.queries WHERE statement_text LIKE '{started}%'"
    with remote_session(process.ports()["connect"], user="watch") as watch:
        assert eventually(lambda: "RUNNING" in {row.state for row in watch.sql(query).collect()}, START_S)
    _kill(process)
    thread.join(START_S)
    assert not errors, errors
    return found


def test_session_has_its_state_after_a_crash(process: ServerProcess, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    spark.sql("CREATE TEMPORARY VIEW answer AS SELECT 42 AS value")
    _kill(process)
    assert spark.sql("SELECT value FROM answer").collect()[0].value == 42
    assert spark.conf.get("spark.sql.shuffle.partitions") == "7"


def test_query_that_ran_is_answered_after_a_crash(process: ServerProcess, spark: SparkSession) -> None:
    text = f"SELECT count(*) AS n FROM range(9000000) WHERE {SLOW}"
    assert [row.n for row in _run_killed(process, spark, text, "SELECT count(*) AS n")] == [9_000_000]


def test_write_that_ran_is_committed_once(process: ServerProcess, spark: SparkSession, folder: Path) -> None:
    spark.sql("CREATE TABLE written (id BIGINT)")
    text = f"INSERT INTO written SELECT id FROM range({ROWS}) WHERE {SLOW}"
    (counts,) = _run_killed(process, spark, text, "INSERT INTO written")
    assert counts.num_affected_rows == ROWS
    written = DeltaTable(str(folder / "lake" / "default" / "written")).to_pyarrow_table()["id"].to_pylist()
    assert sorted(written) == list(range(ROWS))
