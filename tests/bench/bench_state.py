"""SELECT 1 with and without the state folder, over HTTP and PyHive.

Run `python -m tests.bench.bench_state [--statements 4000] [--rounds 5]`. Two servers, one with `state.folder = none`,
are asked alternately by one connection each, so that both meet the same noise. Prints the p50 and the p99 of all
statements, and the medians of the rounds' ratios (with the state folder over without).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from tests.bench.bench_flight import Query, hive_query
from tests.bench.statement_client import Client
from tests.server_process import ServerProcess


@contextmanager
def http_query(port: int) -> Iterator[Query]:
    client = Client(port)
    yield lambda text: len(client.run(text)["result"]["data_array"])


def percentiles(times: list[float]) -> tuple[float, float]:
    """Returns the p50 and the p99, in milliseconds."""
    ordered = sorted(times)
    return ordered[len(ordered) // 2] * 1000, ordered[len(ordered) * 99 // 100] * 1000


def timed(query: Query, count: int) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        assert query("SELECT 1") == 1
        found.append(time.perf_counter() - begin)
    return found


def compare(name: str, queries: dict[str, Query], statements: int, rounds: int) -> None:
    for query in queries.values():
        timed(query, statements // 4)  # warm up
    times: dict[str, list[float]] = {side: [] for side in queries}
    ratios: list[tuple[float, ...]] = []
    for _ in range(rounds):
        found = {side: list[float]() for side in queries}
        for _ in range(10):
            for side, query in queries.items():
                found[side] += timed(query, statements // rounds // 10)
        with_state, without = (percentiles(found[side]) for side in queries)
        ratios.append(tuple(a / b for a, b in zip(with_state, without, strict=True)))
        for side in queries:
            times[side] += found[side]
    for side in queries:
        p50, p99 = percentiles(times[side])
        print(f"{name:7} {side:8} p50 {p50:6.2f} ms  p99 {p99:6.2f} ms", flush=True)
    p50, p99 = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"{name:7} ratio    p50 {p50:6.3f}     p99 {p99:6.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        ports = {}
        for side, settings in (("with", {}), ("without", {"GATEWAY_STATE_FOLDER": "none"})):
            folder = Path(name, side)
            (folder / "lake").mkdir(parents=True)
            environment = {"GATEWAY_SPARK_DRIVER_MEMORY": "1g", **settings}
            server = ServerProcess(folder, str(folder / "lake"), **environment)
            opened.callback(server.end)
            opened.callback(server.popen.terminate)
            ports[side] = server.ports()
        clients: dict[str, tuple[str, Callable[[int], AbstractContextManager[Query]]]] = {
            "HTTP": ("http", http_query),
            "PyHive": ("thrift", hive_query),
        }
        for label, (port, client) in clients.items():
            queries = {side: opened.enter_context(client(ports[side][port])) for side in ports}
            compare(label, queries, arguments.statements, arguments.rounds)


if __name__ == "__main__":
    main()
