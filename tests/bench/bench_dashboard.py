"""Dashboard queries over many concurrent connections, compared with the stock Spark Thrift Server on the same files.

Run `python -m tests.bench.bench_dashboard [--scale 0.2] [--connections 8 64] [--queries 160] [--phases cold warm …]`.
DuckDB generates the data, delta-rs writes it; the stock server reads the same Parquet files. PyHive connections take
queries (`dashboard_queries.py`) from one list in random order, the next one after the last one's rows. The servers
alternate, with the other one idle.

- `cold`: the first queries after the start. Every later phase is warm;
- `alone`: one connection, one query at a time, alternating, without the result cache: medians;
- `warm`: the gateway without its result cache;
- `writer`: the same while another process commits to `orders` every second. The stock server continues with its old
  file list, the gateway reads the newest version;
- `long`: the same while two other connections run long statements in sequence;
- `cached`, `cached-writer`: the gateway with its result cache, which the stock server lacks. The gateway runs
  `CACHED_TIMES` as many queries: the number that takes the stock server a minute would end within a second, and would
  mostly measure first runs.

Prints queries per second, latency (p50, p95) and server processor time per query; and at the end each server's peak
memory. Answers are compared before each measurement, except in the cold phase.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from deltalake import DeltaTable, write_deltalake
from pyhive import hive
from pyhive.exc import OperationalError

from tests.bench.bench_tpch import TABLES, write_tables
from tests.bench.dashboard_queries import PARAMETERS, QUERIES, queries
from tests.bench.sides import alternate
from tests.bench.stock_server import stock_server
from tests.server_process import ServerProcess

PHASES = ("cold", "alone", "warm", "writer", "long", "cached", "cached-writer")
LONG = (
    "SELECT count(*) FROM (SELECT a.l_orderkey, sum(a.l_extendedprice * b.l_discount) AS x"
    " FROM lineitem a JOIN lineitem b ON a.l_partkey = b.l_partkey GROUP BY a.l_orderkey)"
)
LONG_CONNECTIONS = 2
CACHE_SETTING = "gateway.result_cache"
CACHED_TIMES = 20
COMMIT_EVERY_S = 1.0
ALONE_TIMES = 9
SEED = 7


@dataclass(frozen=True)
class Side:
    """A server with its processes."""

    name: str
    port: int
    processes: Sequence[int]

    def processor_s(self) -> float:
        """Returns the processor time that it has taken so far, in seconds."""
        ticks = 0
        for process in self.processes:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        """Returns the sum over all processes' peak memory."""
        lines = [line for each in self.processes for line in Path(f"/proc/{each}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=0.2)
    options.add_argument("--connections", type=int, nargs="+", default=[8, 64])
    options.add_argument("--queries", type=int, default=160, help="of each side in each phase")
    options.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = Path(name)
        lake = folder / "lake" / "default"
        lake.mkdir(parents=True)
        write_tables(lake, arguments.scale)
        sides = [ours(folder, servers), stock(folder, lake, servers)]
        for phase in arguments.phases:
            if phase == "alone":
                alone(sides)
                continue
            for connections in arguments.connections[:1] if phase == "cold" else arguments.connections:
                with committing(lake / "orders") if phase.endswith("writer") else nullcontext():
                    compare(phase, connections, arguments.queries, sides)
            if phase == "cold":
                ensure_equal(sides)
        print("peak memory   " + "   ".join(f"{side.name} {side.peak_mb():6.0f} MB" for side in sides), flush=True)


def ours(folder: Path, servers: ExitStack) -> Side:
    own = {"DRIVER_MEMORY": "1500m", "CONF": "{}", "WARM_UP": "true"}  # not as tests have it
    server = ServerProcess(folder, str(folder / "lake"), **{f"GATEWAY_SPARK_{key}": own[key] for key in own})
    servers.callback(server.end)
    servers.callback(server.popen.terminate)
    return Side("ours", server.ports()["thrift"], [server.server_pid, *server.jvms()])


def stock(folder: Path, lake: Path, servers: ExitStack) -> Side:
    """Starts the stock server; its tables are external ones over our files."""
    server = servers.enter_context(stock_server(folder))
    with closing(hive.connect("127.0.0.1", server.port, username="bench")) as connection:
        for table in TABLES:
            connection.cursor().execute(f"CREATE TABLE {table} USING parquet LOCATION '{(lake / table).as_uri()}'")
    return Side("stock", server.port, [server.process_id])


@contextmanager
def connected(side: Side) -> Iterator[Any]:
    """Yields a connection's cursor. The stock server may fail to end one, for a class that pyspark lacks."""
    connection = hive.connect("127.0.0.1", side.port, username="bench")
    try:
        yield connection.cursor()
    finally:
        with suppress(OperationalError) if side.name == "stock" else nullcontext():
            connection.close()


def ensure_equal(sides: Sequence[Side]) -> None:
    with ExitStack() as connections:
        cursors = [connections.enter_context(connected(side)) for side in sides]
        for text in queries():
            answers: list[Any] = []
            for cursor in cursors:
                cursor.execute(text)
                answers.append(sorted(cursor.fetchall(), key=str))
            if " LIMIT 50" in text:  # any rows
                answers = [len(rows) for rows in answers]
            if answers[0] != answers[1]:
                raise AssertionError(f"the answers differ: {text}\n{answers[0]}\n{answers[1]}")


def alone(sides: Sequence[Side]) -> None:
    """A line for each question: its time on either side, and ours over stock's."""
    with ExitStack() as connections:
        cursors = [connections.enter_context(connected(side)) for side in sides]
        set_cache(cursors[0], use=False)

        def answer(cursor: Any, text: str) -> None:
            cursor.execute(text)
            cursor.fetchall()

        for name, text in QUERIES.items():
            requested = text.format(**PARAMETERS[0])
            ours, stock = alternate(
                partial(answer, cursors[0], requested), partial(answer, cursors[1], requested), ALONE_TIMES
            )
            shown = f"ours {ours:6.0f} ms   stock {stock:6.0f} ms   ratio {ours / stock:.2f}"
            print(f"alone   {name:22} {shown}", flush=True)


def compare(phase: str, connections: int, count: int, sides: Sequence[Side]) -> None:
    """One line: each side's speed, and ours over stock's."""
    is_cached = phase.startswith("cached")
    shown, rates, high = [], [], []
    for side in sides:
        busy = side.processor_s()
        use_cache = is_cached and side.name == "ours"
        requested = count * CACHED_TIMES if use_cache else count
        try:
            with long_statements(side) if phase == "long" else nullcontext():
                times, elapsed = ask(side, connections, requested, use_cache=use_cache)
        except OperationalError as error:
            if not is_cached or CACHE_SETTING not in str(error):
                raise
            print(f"{phase:14} {connections:3} connections   there is no result cache", flush=True)
            return
        times.sort()
        rates.append(requested / elapsed)
        high.append(times[len(times) * 95 // 100])
        shown.append(
            f"{side.name} {rates[-1]:7.1f}/s p50 {times[len(times) // 2]:7.0f} ms p95 {high[-1]:7.0f} ms"
            f" cpu {(side.processor_s() - busy) * 1000 / requested:5.0f} ms"
        )
    ratio = f"rate {rates[0] / rates[1]:.2f} p95 {high[0] / high[1]:.2f}"
    print(f"{phase:14} {connections:3} connections   {'   '.join(shown)}   {ratio}", flush=True)


def ask(side: Side, connections: int, count: int, *, use_cache: bool) -> tuple[list[float], float]:
    """Returns the latency of each of `count` queries in ms, and the total in s, without connecting."""
    requested: SimpleQueue[str] = SimpleQueue()
    texts = queries()
    selected = random.Random(SEED)
    for _ in range(count):
        requested.put(selected.choice(texts))
    ready = threading.Barrier(connections + 1)

    def client() -> list[float]:
        with connected(side) as cursor:
            try:
                if side.name == "ours":
                    set_cache(cursor, use=use_cache)
            except OperationalError:
                ready.abort()
                raise
            ready.wait()
            return list(answered(cursor, requested))

    with ThreadPoolExecutor(connections) as pool:
        clients = [pool.submit(client) for _ in range(connections)]
        try:
            ready.wait()
        except threading.BrokenBarrierError:
            for each in clients:
                if isinstance(error := each.exception(), OperationalError):
                    raise error from None
            raise
        start = time.perf_counter()
        times = [spent for each in clients for spent in each.result()]
        return times, time.perf_counter() - start


def set_cache(cursor: Any, *, use: bool) -> None:
    """A gateway that has no result cache is as it is without one."""
    try:
        cursor.execute(f"SET {CACHE_SETTING} = {'on' if use else 'off'}")
    except OperationalError as error:
        if use or CACHE_SETTING not in str(error):
            raise


def answered(cursor: Any, requested: SimpleQueue[str]) -> Iterator[float]:
    """Yields each query's latency in ms."""
    while True:
        try:
            text = requested.get_nowait()
        except Empty:
            return
        start = time.perf_counter()
        cursor.execute(text)
        cursor.fetchall()
        yield (time.perf_counter() - start) * 1000


@contextmanager
def long_statements(side: Side) -> Iterator[None]:
    """Somebody else, who keeps the server busy."""
    ended = threading.Event()

    def client() -> None:
        with connected(side) as cursor:
            if side.name == "ours":
                set_cache(cursor, use=False)
            while not ended.is_set():
                cursor.execute(LONG)
                cursor.fetchall()

    with ThreadPoolExecutor(LONG_CONNECTIONS) as pool:
        clients = [pool.submit(client) for _ in range(LONG_CONNECTIONS)]
        try:
            yield
        finally:
            ended.set()
            for each in clients:
                each.result()


@contextmanager
def committing(location: Path) -> Iterator[None]:
    """Somebody else, who commits a row every second."""
    row = DeltaTable(location).to_pyarrow_dataset().head(1)
    ended = threading.Event()

    def commit() -> None:
        while not ended.wait(COMMIT_EVERY_S):
            write_deltalake(location, row, mode="append")

    writer = threading.Thread(target=commit)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


if __name__ == "__main__":
    main()
