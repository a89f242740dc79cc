"""Many sessions at once, and clients that die: every statement ends as it should, and nothing runs for nobody.

That nothing runs is seen from outside: the server's Java process, busy with a query that would take days, comes to use
next to no processor time.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive
from TCLIService.ttypes import TOperationState

from tests.clients.drivers import JARS, java, jdbc_connect, read_result
from tests.clients.fix_server import RealServer
from tests.gateway.http.conftest import eventually
from tests.samples import some
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Processors: Java uses more while a query runs, also along with other programs, and less otherwise.
IDLE = 0.15

# A statement, and its expected outcome: the first cell, a condition in brackets, or CANCELED.
Step = tuple[str, str]


def statements(number: int) -> list[Step]:
    """Returns the statements for session `number`: its settings and its schema must hold to the end, regardless of
    others.
    """
    schema, partitions = ("shop", "default")[number % 2], str(3 + number)
    table = {"shop": "customers", "default": "weather"}[schema]
    mixed = [
        (f"SELECT count(*) > 100 FROM {table}", "true"),
        ("SELECT current_schema()", schema),
        ("SELECT count(*) > 0 FROM shop.orders o JOIN shop.order_items i USING (order_id)", "true"),
        (f"SELECT {number} * sum(id) FROM range(1000)", str(number * 499500)),
        ("SELECT nope FROM shop.orders", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("SELECT * FROM nope", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("SELECT 1 / (id - 5) FROM range(10)", "[DIVIDE_BY_ZERO]"),
        (ENDLESS, "CANCELED"),
    ]
    random.Random(number).shuffle(mixed)
    return [
        (f"USE {schema}", ""),
        (f"SET spark.sql.shuffle.partitions = {partitions}", partitions),
        *mixed,
        ("SET spark.sql.shuffle.partitions", partitions),
        ("SET gateway.statement.timeout = 1", "1"),
        (ENDLESS, "[STATEMENT_TIMEOUT]"),
    ]


class PyHiveActor:
    def __init__(self, server: RealServer) -> None:
        self._connection = hive.connect("127.0.0.1", server.thrift_port, username="ada")

    def run(self, text: str) -> str:
        cursor = self._connection.cursor()
        try:
            cursor.execute(text)
            return last_cell(cursor.fetchall()) if cursor.description else ""
        except hive.OperationalError as error:
            return condition_in(str(error))
        finally:
            cursor.close()

    def cancel(self, text: str) -> str:
        cursor = self._connection.cursor()
        cursor.execute(text, async_=True)
        cursor.cancel()
        return "CANCELED" if cursor.poll().operationState == TOperationState.CANCELED_STATE else "not cancelled"

    def close(self) -> None:
        self._connection.close()


class JdbcActor:
    def __init__(self, server: RealServer, gateway: JavaGateway) -> None:
        self._connection = jdbc_connect(gateway, f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default")

    def run(self, text: str) -> str:
        statement = self._connection.createStatement()
        try:
            return last_cell(read_result(statement.getResultSet())) if statement.execute(text) else ""
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() == "SQLTimeoutException":
                return "[STATEMENT_TIMEOUT]"  # the driver has its own message for that state
            return condition_in(error.java_exception.getMessage())
        finally:
            statement.close()

    def cancel(self, text: str) -> str:
        statement = self._connection.createStatement()
        canceller = threading.Timer(1.5, statement.cancel)  # one that does not have its handle yet cancels nothing
        canceller.start()
        try:
            statement.executeQuery(text)
        except Py4JJavaError as error:
            return "CANCELED" if "cancelled" in error.java_exception.getMessage() else "failed otherwise"
        finally:
            canceller.join()
            statement.close()
        return "finished"

    def close(self) -> None:
        self._connection.close()


class HttpActor:
    def __init__(self, server: RealServer) -> None:
        self._client = server.http(TIMEZONE="UTC")

    def run(self, text: str) -> str:
        answer = self._client.wait(self._client.submit(text))
        if answer["status"]["state"] == "SUCCEEDED":
            return last_cell(answer["result"].get("data_array", ()))
        return condition_in(answer["status"]["error"]["message"])

    def cancel(self, text: str) -> str:
        answer = self._client.submit(text, wait="0s")
        self._client.ask("POST", f"/statements/{answer['statement_id']}/cancel", {})
        return str(self._client.wait(answer | {"status": {"state": "RUNNING"}})["status"]["state"])

    def close(self) -> None:
        self._client.close()


def last_cell(rows: Sequence[Sequence[object]]) -> str:
    """Returns the first row's last cell; booleans as in SQL."""
    return str(rows[0][-1]).lower() if rows else ""


def condition_in(message: str) -> str:
    found = re.search(r"\[[A-Z_.]+\]", message)
    return found[0] if found else message


def test_mixed_statements_of_eight_sessions(server: RealServer, jvm: JavaGateway) -> None:
    makers: list[Callable[[RealServer], Any]] = [PyHiveActor, HttpActor, partial(JdbcActor, gateway=jvm)]
    actors: list[Any] = [makers[number % 3](server) for number in range(8)]

    def play(number: int) -> list[Step]:
        actor = actors[number]
        steps = statements(number)
        return [(text, actor.cancel(text) if wanted == "CANCELED" else actor.run(text)) for text, wanted in steps]

    with ThreadPoolExecutor(len(actors)) as pool:
        outcomes = list(pool.map(play, range(len(actors))))
    for number, outcome in enumerate(outcomes):
        assert outcome == statements(number)
    for actor in actors:
        actor.close()
    assert eventually(lambda: processors_used(server.process) < IDLE)


PYHIVE = """
import sys
from pyhive import hive
cursor = hive.connect("127.0.0.1", int(sys.argv[1])).cursor()
cursor.execute(sys.argv[3], async_={is_async})
print("running", flush=True)
while True:
    cursor.poll()
"""
HTTP = """
import json, sys, urllib.request
body = json.dumps({"statement": sys.argv[3], "wait_timeout": "50s"}).encode()
url = f"http://127.0.0.1:{sys.argv[2]}/api/2.0/sql/statements"
urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}))
"""
CLIENTS = {
    "pyhive": [sys.executable, "-c", PYHIVE.replace("{is_async}", "False")],
    "pyhive asynchronous": [sys.executable, "-c", PYHIVE.replace("{is_async}", "True")],
    "http": [sys.executable, "-c", HTTP],
    "beeline": [java(), "-cp", JARS, "org.apache.hive.beeline.BeeLine", "-u", "jdbc:hive2://127.0.0.1:{thrift}/", "-e"],
}


@pytest.mark.parametrize("client", some(CLIENTS, ("pyhive asynchronous", "http")))
def test_a_client_that_is_killed_leaves_nothing_running(server: RealServer, client: str) -> None:
    assert eventually(lambda: processors_used(server.process) < IDLE)
    command = [part.replace("{thrift}", str(server.thrift_port)) for part in CLIENTS[client]]
    ports = [str(server.thrift_port), str(server.http_port)] if command[0] == sys.executable else []
    process = subprocess.Popen([*command, *ports, ENDLESS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: processors_used(server.process) > IDLE)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert eventually(lambda: processors_used(server.process) < IDLE)


def processors_used(process: ServerProcess, seconds: float = 0.5) -> float:
    """Returns the number of processors that the server's Java used in the next `seconds`."""
    before, began = ticks(process), time.monotonic()
    time.sleep(seconds)
    return (ticks(process) - before) / TICKS_PER_S / (time.monotonic() - began)


def ticks(process: ServerProcess) -> int:
    total = 0
    for jvm in process.jvms():
        times = Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()
        total += int(times[11]) + int(times[12])
    return total
