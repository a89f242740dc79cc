"""A server whose Spark dies, hangs, runs out of memory or is blocked by endless planning, from outside."""

from __future__ import annotations

import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from engine.sample.lake import ensure_sample_lake
from tests.clients.http_client import HttpClient
from tests.gateway.http.conftest import eventually
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"
READ = "SELECT count(sha2(cast(id AS string), 256)) FROM range(20000000)"
# Folded by the optimizer, in one rule and for hours.
WEDGED = (
    "SELECT aggregate(sequence(1, 100000), 0L, (a, x) -> a + "
    "aggregate(sequence(1, 100000), 0L, (b, y) -> b + aggregate(sequence(1, 1000), 0L, (c, z) -> c + z)))"
)
GREEDY = "SELECT length(listagg(repeat('x', 1000000), ',')) FROM range(5000)"
HUGE = "SELECT max(length(repeat('x', 500000000 + int(id)))) FROM range(4)"
WIDE = "SELECT repeat('x', 1000000) FROM range(5000)"
# One call to Java's matcher that takes days: it tries each way to divide the text.
UNSTOPPABLE = "SELECT count(*) FROM range(0, 1, 1, 1) WHERE rlike(repeat('x', 40 + CAST(id AS INT)), '(.*x){25}y')"
READY_S = 120
REPEATED = "runs again in the next Spark"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("lost spark")
    ensure_sample_lake(str(folder / "lake"))
    started = ServerProcess(
        folder,
        str(folder / "lake"),
        GATEWAY_SPARK_DRIVER_MEMORY="600m",
        GATEWAY_SPARK_STUCK_S="30",
        GATEWAY_SPARK_SILENT_S="4",
        GATEWAY_SPARK_FAILURES_MAX="100",
        GATEWAY_SPARK_WAIT_S="200",
        GATEWAY_STATEMENTS_RUNNING_MAX="3",
        GATEWAY_SERVER_DRAIN_DEADLINE_S="3",
    )
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
    started.end()


@pytest.fixture
def http(process: ServerProcess) -> HttpClient:
    return HttpClient(process.ports()["http"])


def status(http: HttpClient, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http.port}{path}", timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def metric(http: HttpClient, name: str) -> float:
    """Returns NaN for a metric of Spark before its first heartbeat."""
    with urllib.request.urlopen(f"http://127.0.0.1:{http.port}/metrics", timeout=60) as response:
        lines = response.read().decode().splitlines()
    return float(next((line for line in lines if line.startswith(f"{name} ")), f"{name} nan").split()[1])


def cell(answer: dict[str, Any]) -> Any:
    return answer["result"]["data_array"][0][0]


def java(process: ServerProcess) -> int:
    (found,) = process.jvms()
    return found


def ended(answers: list[dict[str, Any]], http: HttpClient) -> dict[str, Any]:
    """Appends a small query's response to `answers`, and returns it."""
    answers.append(http.wait(http.submit("SELECT sum(id) FROM range(1000)")))
    return answers[-1]


def running(http: HttpClient, text: str) -> dict[str, Any]:
    """Returns a statement that has begun."""
    answer = http.submit(text, wait="0s")
    path = f"/statements/{answer['statement_id']}"
    assert eventually(lambda: http.ask("GET", path)["status"]["state"] == "RUNNING")
    time.sleep(0.5)
    return answer


def test_killed_spark_comes_back_and_clients_do_not_notice(process: ServerProcess, http: HttpClient) -> None:
    session, before = http.session(), java(process)
    for text in ("USE shop", "SET spark.sql.shuffle.partitions = 5", "CREATE TEMPORARY VIEW mine AS SELECT 42 AS n"):
        session.run(text)
    http.run("CREATE TABLE added_to (id BIGINT)")
    connection = hive.connect("127.0.0.1", process.ports()["thrift"])
    with closing(connection.cursor()) as cursor, ThreadPoolExecutor(1) as threads:
        read = running(session, READ)
        made = running(http.session(), "CREATE TABLE made_once AS SELECT id, uuid() AS u FROM range(2000000)")
        added = running(http.session(), "INSERT INTO added_to SELECT id FROM range(1000000) WHERE hash(id) % 2 < 2")
        over_thrift = threads.submit(cursor.execute, READ)
        time.sleep(1)
        os.kill(before, signal.SIGKILL)
        assert eventually(lambda: status(http, "/readyz") == 503) and status(http, "/healthz") == 200
        over_thrift.result(READY_S)
        assert cursor.fetchall() == [(20_000_000,)]
    assert cell(session.wait(read)) == "20000000"
    assert http.wait(made)["status"]["state"] == http.wait(added)["status"]["state"] == "SUCCEEDED"
    assert cell(http.run("SELECT concat_ws(' ', count(*), count(DISTINCT u)) FROM made_once")) == "2000000 2000000"
    assert cell(http.run("SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM added_to")) == "1000000 1000000"
    assert [len(http.rows(f"DESCRIBE HISTORY {table}")) for table in ("made_once", "added_to")] == [1, 2]
    assert status(http, "/readyz") == 200
    assert cell(session.run("SELECT n FROM mine")) == "42"
    assert cell(session.run("SELECT current_schema()")) == "shop"
    assert session.rows("SET spark.sql.shuffle.partitions") == [["spark.sql.shuffle.partitions", "5"]]
    assert "Traceback" not in process.output


def test_statements_without_java_are_answered_while_spark_restarts(process: ServerProcess, http: HttpClient) -> None:
    session = http.session()
    for text in ("USE shop", "SET spark.sql.shuffle.partitions = 5"):
        session.run(text)
    os.kill(java(process), signal.SIGKILL)
    assert eventually(lambda: status(http, "/readyz") == 503)
    for text in ("SHOW TABLES", "DESCRIBE orders", "SET spark.sql.shuffle.partitions", "SELECT count(*) FROM orders"):
        session.run(text)  # the last is answered from the log
    http.session().run("SHOW TABLES IN shop")
    assert status(http, "/readyz") == 503
    assert cell(session.run("SELECT sum(id) FROM range(10)")) == "45" and status(http, "/readyz") == 200


def test_half_read_result_continues_after_spark_is_killed(process: ServerProcess) -> None:
    """Its query still runs: Spark computes no more rows than its reader is about to need."""
    with closing(hive.connect("127.0.0.1", process.ports()["thrift"]).cursor()) as cursor:
        cursor.execute("SELECT id, repeat(sha2(cast(id AS string), 256), 8) AS h FROM range(1500000)")
        rows, repeated = [cursor.fetchone() for _ in range(5000)], process.output.count(REPEATED)
        os.kill(java(process), signal.SIGKILL)
        rows += cursor.fetchall()
    assert process.output.count(REPEATED) == repeated + 1
    assert [row[0] for row in rows] == list(range(1_500_000))
    assert all(row[1] == sha256(str(row[0]).encode()).hexdigest() * 8 for row in rows[4_000:6_000])


def test_query_that_kills_spark_each_time_fails(process: ServerProcess, http: HttpClient) -> None:
    lost = running(http, ENDLESS)
    for _ in range(2):
        os.kill(java(process), signal.SIGKILL)
        assert eventually(lambda: status(http, "/readyz") == 503, READY_S)
        assert eventually(lambda: status(http, "/readyz") == 200, READY_S)
        time.sleep(1)
    answer = http.wait(lost)["status"]
    assert answer["state"] == "FAILED" and answer["error"]["error_code"] == "TEMPORARILY_UNAVAILABLE"
    assert "SPARK_RESTARTING" in answer["error"]["message"] and "\tat " not in answer["error"]["message"]


def test_server_survives_statements_with_too_much_memory(process: ServerProcess, http: HttpClient) -> None:
    """Such a statement fails alone, unless one of Spark's own threads allocates memory in the same moment. Many wide
    rows need no memory: they are spooled to files, up to the result limit.
    """
    answers: list[dict[str, Any]] = []
    for text in (GREEDY, HUGE, WIDE, GREEDY):
        answer = http.wait(http.submit(text))["status"]
        assert answer["state"] == "FAILED", text
        message = answer["error"]["message"]
        expected = r"\[RESULT_TOO_LARGE\]" if text == WIDE else r"\[(OUT_OF_MEMORY|SPARK_RESTARTING)\]"
        assert re.match(expected, message) and "\tat " not in message, text
        # others may have to retry while the heap is full
        assert eventually(lambda: ended(answers, http)["status"]["state"] == "SUCCEEDED", READY_S), answers[-1]
        assert cell(answers[-1]) == "499500"
    assert status(http, "/readyz") == 200 and process.popen.poll() is None


def test_statements_that_are_cancelled_while_planned_give_their_places_back(
    process: ServerProcess, http: HttpClient
) -> None:
    for statement in [running(http, WEDGED) for _ in range(3)]:
        http.ask("POST", f"/statements/{statement['statement_id']}/cancel", {})
        assert http.wait(statement)["status"]["state"] == "CANCELED"
    assert cell(http.session().run("SELECT 1 + id FROM range(1)")) == "1"


def test_task_that_nothing_stops_costs_others_no_statement(process: ServerProcess, http: HttpClient) -> None:
    """One of two slots is blocked; the others' statements are running when Spark is restarted."""
    http.run("CREATE TABLE target (id BIGINT)")
    before, restarts = java(process), metric(http, "gateway_spark_restarts_total")
    assert eventually(lambda: metric(http, "gateway_spark_tasks_running") == 0)
    stuck = running(http, UNSTOPPABLE)
    # While it is planned, it can still be canceled, and a task has to compile its code first.
    assert eventually(lambda: metric(http, "gateway_spark_tasks_running") == 1)
    time.sleep(2)
    http.ask("POST", f"/statements/{stuck['statement_id']}/cancel", {})
    assert http.wait(stuck)["status"]["state"] == "CANCELED"
    read = running(http.session(), "SELECT count(sha2(cast(id AS string), 256)) FROM range(80000000)")
    made = running(
        http.session(), "CREATE TABLE made AS SELECT id, sha2(cast(id AS string), 256) AS h FROM range(3000000)"
    )
    added = running(http.session(), "INSERT INTO target SELECT id FROM range(1000000) WHERE hash(id) % 2 < 2")
    assert eventually(lambda: metric(http, "gateway_statements_abandoned") >= 1)
    assert eventually(lambda: process.jvms() not in ([before], []), READY_S)
    assert cell(http.wait(read)) == "80000000"
    assert http.wait(made)["status"]["state"] == http.wait(added)["status"]["state"] == "SUCCEEDED"
    assert cell(http.run("SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM made")) == "3000000 3000000"
    assert cell(http.run("SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM target")) == "1000000 1000000"
    assert [len(http.rows(f"DESCRIBE HISTORY {table}")) for table in ("made", "target")] == [1, 2]
    assert metric(http, "gateway_spark_restarts_total") == restarts + 1
    assert eventually(lambda: metric(http, "gateway_statements_abandoned") == 0)
    assert REPEATED in process.output


def test_a_java_that_hangs_is_replaced(process: ServerProcess, http: HttpClient) -> None:
    before = java(process)
    os.kill(before, signal.SIGSTOP)
    # Statements without Java are answered, while the server still counts as ready; others can be abandoned.
    with closing(hive.connect("127.0.0.1", process.ports()["thrift"])) as connection:
        cursor = connection.cursor()
        for text in ("USE shop", "SHOW TABLES", "SELECT count(*) FROM orders"):
            cursor.execute(text)
            cursor.fetchall() if text != "USE shop" else None
        cursor.execute("SELECT sum(id) FROM range(10)", async_=True)
        cursor.cancel()
        with pytest.raises(OperationalError, match="CANCELED"):
            cursor.fetchall()
    assert process.jvms() == [before]  # it is the same Java, and still stopped
    waiting = http.submit("SELECT sum(id) FROM range(10)", wait="0s")
    assert eventually(lambda: status(http, "/readyz") == 503)
    assert eventually(lambda: process.jvms() not in ([before], []), 180)
    assert http.wait(waiting)["status"]["state"] in ("FAILED", "SUCCEEDED")  # it was in Java already, or it waited
    assert cell(http.run("SELECT sum(id) FROM range(10)")) == "45"
    assert eventually(lambda: status(http, "/readyz") == 200, READY_S)


def test_the_shutdown_keeps_its_deadline_whatever_java_does(process: ServerProcess, http: HttpClient) -> None:
    running(http, WEDGED)
    children = process.jvms()
    os.kill(children[0], signal.SIGSTOP)
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == 0  # within its time limit
    assert not any(Path(f"/proc/{child}").exists() for child in children)
