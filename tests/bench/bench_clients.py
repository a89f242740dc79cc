"""Client latency compared with the stock Spark Thrift Server in the same pyspark.

Start, SELECT 1, large results, and SELECT 1 over many concurrent connections.

Run `python -m tests.bench.bench_clients [--rows 1000000] [--repeat 40]`. Both servers run on this machine, and the
clients alternate between them, so that both meet the same noise; prints medians and their ratio (ours over stock). The
stock server has no HTTP statement interface and rejects Databricks' connector, so only ours is measured there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from databricks import sql
from impala.dbapi import connect as impala_connect
from pyhive import hive
from thrift.Thrift import TMessageType

from gateway.hs2.gen import TCLIService
from gateway.hs2.gen import ttypes as t
from gateway.hs2.messages import encode_struct, format_header
from tests.bench.jdbc import Jdbc, jdbc
from tests.bench.stock_server import stock_server
from tests.server_process import ServerProcess

# Runs a query, and returns the number of rows.
Query = Callable[[str], int]
BIG = "SELECT id, cast(id AS string) AS s, id * 0.5 AS d FROM range({rows})"
# Stock Spark accepts it as an unknown setting.
UNCACHED = "SET use_cached_result = false"
# A FetchResults without rows is smaller.
EMPTY_ANSWER_BYTES_MAX = 1000


@contextmanager
def pyhive_query(port: int) -> Iterator[Query]:
    with closing(hive.connect("127.0.0.1", port, username="bench")) as connection:

        def run(text: str) -> int:
            with closing(connection.cursor(arraysize=10_000)) as cursor:
                cursor.execute(text)
                return len(cursor.fetchall())

        yield run


@contextmanager
def impyla_query(port: int) -> Iterator[Query]:
    with closing(impala_connect("127.0.0.1", port, auth_mechanism="PLAIN", user="bench", password="x")) as connection:
        cursor = connection.cursor()

        def run(text: str) -> int:
            cursor.execute(text)
            return len(cursor.fetchall())

        yield run


@contextmanager
def raw_query(port: int) -> Iterator[Query]:
    """Reads a result's bytes without decoding, as a lower bound for any client; a response without rows is the end."""
    with closing(impala_connect("127.0.0.1", port, auth_mechanism="PLAIN", user="bench", password="x")) as connection:
        cursor = connection.cursor()

        def run(text: str) -> int:
            cursor.execute(text)
            operation = cursor._last_operation
            message = fetch_message(operation.handle)
            transport, answers = operation.client._oprot.trans, 0
            while True:
                transport.write(message)
                transport.flush()
                (length,) = struct.unpack(">I", transport._trans.readAll(4))
                transport._trans.readAll(length)
                if length < EMPTY_ANSWER_BYTES_MAX:
                    return answers
                answers += 1

        yield run


def fetch_message(handle: Any) -> bytes:
    """Returns a FetchResults for 10,000 rows; another generated module's handle has the same fields."""
    guid = handle.operationId
    operation = t.TOperationHandle(t.THandleIdentifier(guid.guid, guid.secret), handle.operationType, True)
    request = TCLIService.FetchResults_args(t.TFetchResultsReq(operation, t.TFetchOrientation.FETCH_NEXT, 10_000))
    return format_header("FetchResults", TMessageType.CALL, 1) + encode_struct(request)


@contextmanager
def http_query(port: int) -> Iterator[Query]:
    url = f"http://127.0.0.1:{port}/api/2.0/sql/statements"

    def run(text: str) -> int:
        body = json.dumps({"statement": text}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return len(json.load(answer)["result"]["data_array"])

    yield run


@contextmanager
def databricks_query(port: int) -> Iterator[Query]:
    path = "/sql/1.0/warehouses/any"
    uri = f"http://127.0.0.1:{port}{path}"
    connect = sql.connect("127.0.0.1", path, access_token="any", _connection_uri=uri, enable_telemetry=False)
    with closing(connect) as connection:
        cursor = connection.cursor()
        yield lambda text: int(cursor.execute(text).fetchall_arrow().num_rows)


def compare(
    name: str,
    text: str,
    rows: int,
    repeat: int,
    systems: Mapping[str, Query],
    *,
    answers: bool = False,
    busy_s: Callable[[], float] = time.process_time,
) -> None:
    """Runs `text` on each system in turn and prints the medians; each run must return `rows` rows (with `answers`:
    some).

    `own` is the client process's processor time from `busy_s`.
    """
    times: dict[str, list[float]] = {system: [] for system in systems}
    own: dict[str, list[float]] = {system: [] for system in systems}
    for query in systems.values():
        query(text)  # warm up
    for _ in range(repeat):
        for system, query in systems.items():
            start, busy = time.perf_counter(), busy_s()
            found = query(text)
            times[system].append((time.perf_counter() - start) * 1000)
            own[system].append((busy_s() - busy) * 1000)
            assert found > 0 if answers else found == rows, (system, found)
    medians = {system: statistics.median(values) for system, values in times.items()}
    shown = "  ".join(
        f"{system} {median:8.1f} ms (own {statistics.median(own[system]):6.1f})" for system, median in medians.items()
    )
    ratio = f"  ratio {medians['ours'] / medians['stock']:.2f}" if "stock" in medians else ""
    speeds = "  ".join(f"{system} {rows / median:6.0f} k rows/s" for system, median in medians.items() if rows > 1)
    print(f"{name:24} {shown}{ratio}  {speeds}".rstrip(), flush=True)


def compare_load(driver: Jdbc, ports: Mapping[str, int], connections: int, runs: int, *, cached: bool) -> None:
    """`SELECT 1` by many connections at once."""
    shown, p99, first = [], {}, () if cached else (UNCACHED,)
    for system, port in ports.items():
        driver.load(port, connections, 2, "SELECT 1", first)  # warm up
        times = sorted(driver.load(port, connections, runs, "SELECT 1", first))
        p99[system] = times[len(times) * 99 // 100]
        shown.append(f"{system} p50 {statistics.median(times):7.1f} ms p99 {p99[system]:7.1f} ms")
    name = f"{connections} connections" if cached else f"{connections}, no answer kept"
    print(f"{name:24} {'  '.join(shown)}  ratio of p99 {p99['ours'] / p99['stock']:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--connections", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = Path(name)
        (folder / "lake").mkdir()
        start = time.perf_counter()
        server = ServerProcess(
            folder, str(folder / "lake"), GATEWAY_SPARK_DRIVER_MEMORY="1500m", GATEWAY_SPARK_CONF="{}"
        )
        servers.callback(server.end)
        servers.callback(server.popen.terminate)
        ports = server.ports()
        ours = time.perf_counter() - start
        start = time.perf_counter()
        stock = servers.enter_context(stock_server(folder))
        print(f"start                    ours {ours:9.1f} s   stock {time.perf_counter() - start:9.1f} s")
        measure(options, ports, {"ours": ports["thrift"], "stock": stock.port}, BIG.format(rows=options.rows))


def measure(options: argparse.Namespace, ports: Mapping[str, int], both: Mapping[str, int], big: str) -> None:
    for client, connect in (("PyHive", pyhive_query), ("impyla", impyla_query)):
        with ExitStack() as open_:
            systems = {system: open_.enter_context(connect(port)) for system, port in both.items()}
            compare(f"SELECT 1, {client}", "SELECT 1", 1, options.repeat, systems)
            for query in systems.values():
                query(UNCACHED)
            compare(f"SELECT 1, {client}, no answer kept", "SELECT 1", 1, options.repeat, systems)
            compare(f"{options.rows} rows, {client}", big, options.rows, 5, systems)
    with ExitStack() as open_:
        systems = {system: open_.enter_context(raw_query(port)) for system, port in both.items()}
        compare(f"{options.rows} rows, raw bytes", big, options.rows, 5, systems, answers=True)
    with jdbc() as driver:
        connections = {system: driver.connect(port) for system, port in both.items()}
        systems = {system: partial(driver.read, connection) for system, connection in connections.items()}
        compare("SELECT 1, hive-jdbc", "SELECT 1", 1, options.repeat, systems, busy_s=driver.busy_s)
        rows = options.rows // 10  # the driver polls the state each time
        compare(f"{rows} rows, hive-jdbc", BIG.format(rows=rows), rows, 5, systems, busy_s=driver.busy_s)
        for cached in (True, False):
            compare_load(driver, both, options.connections, 20, cached=cached)
    with databricks_query(ports["http"]) as query:
        compare("SELECT 1, Databricks", "SELECT 1", 1, options.repeat, {"ours": query})
        compare(f"{options.rows} rows, Databricks", big, options.rows, 5, {"ours": query})
    with http_query(ports["http"]) as query:
        compare("SELECT 1, HTTP", "SELECT 1", 1, options.repeat, {"ours": query})


if __name__ == "__main__":
    main()
