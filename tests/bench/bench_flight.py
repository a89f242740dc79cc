"""Arrow Flight SQL: latency of SELECT 1, a million rows, and the throughput of large results.

Run `python -m tests.bench.bench_flight [--rows 1000000] [--repeat 40] [--connections 64]`. The clients are ADBC's
driver and PyHive on one server, which alternate in one run, so that both meet the same noise. The throughput is
compared with a copy of the same IPC stream over a loopback socket, from the memory of another process, by which PyArrow
reads the same batches, and with PyArrow's own Flight server that has the rows in memory: what gRPC costs. Prints
medians, and percentiles of all connections together.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi
import pyarrow as pa
from pyarrow import flight
from pyhive import hive

from tests.gateway.flight.lab import query_info
from tests.server_process import ServerProcess

BIG = "SELECT id, cast(id AS string) AS s, id * 0.5D AS d FROM range({rows})"
# Runs a query, and returns the number of rows.
Query = Callable[[str], int]


@contextmanager
def hive_query(port: int) -> Iterator[Query]:
    with closing(hive.connect("127.0.0.1", port, username="bench")) as connection:

        def run(text: str) -> int:
            with closing(connection.cursor(arraysize=10_000)) as cursor:
                cursor.execute(text)
                return len(cursor.fetchall())

        yield run


@contextmanager
def adbc_query(port: int) -> Iterator[Query]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        login = {"username": "bench", "password": "x"}
        location = f"grpc://127.0.0.1:{port}"
        opened = adbc_driver_flightsql.dbapi.connect(location, db_kwargs=login, autocommit=True)
    with closing(opened) as connection:

        def run(text: str) -> int:
            with closing(connection.cursor()) as cursor:
                cursor.execute(text)
                return int(cursor.fetch_arrow_table().num_rows)

        yield run


def measure(query: Query, text: str) -> float:
    begin = time.perf_counter()
    query(text)
    return time.perf_counter() - begin


def compare(first: Query, second: Query, text: str, repeat: int) -> tuple[float, float]:
    """Returns the medians of both in seconds; they alternate."""
    for query in (first, second):
        query(text)
    pairs = [(measure(first, text), measure(second, text)) for _ in range(repeat)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def concurrent(opened: Callable[[int], Any], port: int, connections: int, seconds: float) -> list[float]:
    """Returns the times of SELECT 1 over many connections, each of which repeats it."""
    found: list[float] = []
    start = threading.Barrier(connections)

    def work(_: int) -> None:
        with opened(port) as query:
            query("SELECT 1")
            start.wait(120)
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                found.append(measure(query, "SELECT 1"))

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(work, range(connections)))
    return sorted(found)


def _send(rows: pa.Table, ports: Any) -> None:
    """Sends the IPC stream to each client; in a process of its own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    content = memoryview(sink.getvalue())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports.put(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(content)


class _Plain(flight.FlightServerBase):
    """Sends the same rows from memory, without Python for each batch."""

    def __init__(self, rows: pa.Table) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._rows = rows

    def do_get(self, context: Any, ticket: Any) -> Any:
        return flight.RecordBatchStream(self._rows)


def _serve(rows: pa.Table, ports: Any) -> None:
    server = _Plain(rows)
    ports.put(server.port)
    server.serve()


def read_plain(port: int) -> int:
    with flight.FlightClient(f"grpc://127.0.0.1:{port}") as client:
        return sum(chunk.data.num_rows for chunk in client.do_get(flight.Ticket(b"")))


def read_copy(port: int) -> int:
    """Reads the copied stream; returns its rows."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb", 1 << 20) as stream:
        return sum(batch.num_rows for batch in pa.ipc.open_stream(stream))


def read_tickets(location: str, info: Any, at_once: int) -> int:
    """Reads all endpoints, `at_once` at the same time, each by a connection of its own; returns the rows."""

    def read(endpoint: Any) -> int:
        options = [("grpc.use_local_subchannel_pool", 1)]
        with flight.FlightClient(location, generic_options=options) as client:
            return sum(chunk.data.num_rows for chunk in client.do_get(endpoint.ticket))

    if at_once == 1:
        with flight.FlightClient(location) as client:
            return sum(chunk.data.num_rows for one in info.endpoints for chunk in client.do_get(one.ticket))
    with ThreadPoolExecutor(at_once) as pool:
        return sum(pool.map(read, info.endpoints))


def throughput(port: int, rows: int, repeat: int) -> None:
    location = f"grpc://127.0.0.1:{port}"
    with flight.FlightClient(location) as client:
        info = query_info(client, BIG.format(rows=rows))
        table = pa.concat_tables(client.do_get(one.ticket).read_all() for one in info.endpoints)
        context = multiprocessing.get_context("spawn")
        ports = context.Queue()
        senders = [context.Process(target=target, args=[table, ports], daemon=True) for target in (_send, _serve)]
        sources = []
        for sender in senders:
            sender.start()
            sources.append(ports.get(timeout=60))
        copy_port, plain_port = sources
        size = table.get_total_buffer_size()
        reads: dict[str, Callable[[], int]] = {
            "copy": partial(read_copy, copy_port),
            "PyArrow's server, from memory": partial(read_plain, plain_port),
            "flight": partial(read_tickets, location, info, 1),
            "flight, 2 endpoints at once": partial(read_tickets, location, info, 2),
        }
        found: dict[str, list[float]] = {name: [] for name in reads}
        for _ in range(repeat):
            for name, read in reads.items():
                begin = time.perf_counter()
                assert read() == rows
                found[name].append(time.perf_counter() - begin)
        for sender in senders:
            sender.kill()
    print(f"{rows} rows, {size / 1e6:.0f} MB, {len(info.endpoints)} endpoints, MB/s, best and median of {repeat}:")
    for name, times in found.items():
        best, median = (size / choose(times) / 1e6 for choose in (min, statistics.median))
        ratios = [100 * choose(found["copy"]) / choose(times) for choose in (min, statistics.median)]
        print(f"  {name}: {best:.0f} ({ratios[0]:.0f} % of the copy), {median:.0f} ({ratios[1]:.0f} %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--throughput", action="store_true", help="measure nothing else")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as parts:
        lake = Path(name, "lake")
        lake.mkdir()
        process = ServerProcess(
            Path(name),
            str(lake),
            GATEWAY_SERVER_FLIGHT_PORT="0",
            GATEWAY_SPARK_DRIVER_MEMORY="2g",
            GATEWAY_RESULTS_CACHE_BYTES_MAX="0",
        )
        parts.callback(process.end)
        parts.callback(process.popen.terminate)
        ports = process.ports()
        print(f"Arrow Flight SQL (bench_flight), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        adbc, pyhive = (
            parts.enter_context(adbc_query(ports["flight"])),
            parts.enter_context(hive_query(ports["thrift"])),
        )
        if arguments.throughput:
            throughput(ports["flight"], 5 * arguments.rows, 25)
            return
        ours, other = compare(adbc, pyhive, "SELECT 1", arguments.repeat)
        print(f"SELECT 1, one connection, ms: ADBC {ours * 1000:.1f}  PyHive {other * 1000:.1f}")
        for label, opened, port in (("ADBC", adbc_query, "flight"), ("PyHive", hive_query, "thrift")):
            times = concurrent(opened, ports[port], arguments.connections, arguments.seconds)
            p50, p99 = times[len(times) // 2] * 1000, times[len(times) * 99 // 100] * 1000
            rate = len(times) / arguments.seconds
            figures = f"{label} p50 {p50:.0f} ms  p99 {p99:.0f} ms  {rate:.0f}/s"
            print(f"SELECT 1, {arguments.connections} connections: {figures}")
        ours, other = compare(adbc, pyhive, BIG.format(rows=arguments.rows), 3)
        print(f"{arguments.rows} rows, s: ADBC {ours:.2f}  PyHive {other:.2f}  ratio {other / ours:.1f}")
        throughput(ports["flight"], 5 * arguments.rows, 25)
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
