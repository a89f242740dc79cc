"""Large results and many clients over HTTP: memory, rates compared with Thrift, and short statements' latency.

Run `python -m tests.bench.bench_results [--gigabytes 10] [--links arrow,json] [--downloads arrow,parquet,csv]
[--clients 200] [--rows 1000000] [--only rates|short|large]`. Memory is the resident set of the server's Python process
(its peak above idle), and Java's, whose heap is limited by spark.driver_memory. The result is stored on the temporary
folder's disk while it is fetched.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.bench_clients import BIG, Query, compare, pyhive_query, raw_query
from tests.bench.statement_client import MEGA, STATEMENTS, Client, Memory, fetch_links
from tests.server_process import ServerProcess

ROW = "SELECT id, id * 0.5 AS half, repeat(cast(id AS string), 12) AS text FROM range({rows})"
# Arrow bytes, for ids with nine digits.
ROW_BYTES = 130
FORMATS = {"arrow": "ARROW_STREAM", "json": "JSON_ARRAY", "csv": "CSV"}


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[ServerProcess]:
    lake = folder / "lake"
    lake.mkdir(parents=True)
    settings = {"SPARK_MASTER": "local[2]", "SPARK_LOCAL_DIR": str(folder), **environment}
    process = ServerProcess(folder, str(lake), **{f"GATEWAY_{name}": value for name, value in settings.items()})
    try:
        yield process
    finally:
        process.popen.terminate()
        process.end()


def timed(what: str, memory: Memory, work: Callable[[], int]) -> None:
    began = time.monotonic()
    size = work()
    seconds = time.monotonic() - began
    more = [(peak - idle) / MEGA for peak, idle in zip(memory.peak, memory.idle, strict=True)]
    print(
        f"{what:<28} {size / MEGA:>8.0f} MB in {seconds:>6.1f} s, {size / MEGA / seconds:>6.0f} MB/s; "
        f"most above idle: Python {more[0]:.0f} MB, Java {more[1]:.0f} MB",
        flush=True,
    )


def measure_large(folder: Path, gigabytes: float, links: list[str], downloads: list[str]) -> None:
    limit = int(gigabytes * 1.3 * (1 << 30))
    limits = {name: str(limit) for name in ("RESULTS_BYTES_MAX", "RESULTS_DISK_BYTES_MAX", "RESULTS_KEPT_BYTES_MAX")}
    with served(folder, **limits) as server:
        client = Client(server.ports()["http"])
        client.run("SELECT 1")
        (java,) = server.jvms()
        memory = Memory(server.server_pid, java)
        text = ROW.format(rows=int(gigabytes * (1 << 30) / ROW_BYTES))
        answer: dict[str, Any] = {}

        def run(name: str) -> int:
            answer.update(client.run(text, disposition="EXTERNAL_LINKS", format=FORMATS[name]))
            return int(answer["manifest"]["total_byte_count"])

        def end() -> None:
            client.ask("DELETE", f"{STATEMENTS}/{answer['statement_id']}")

        for name in links:
            if answer:
                end()
            timed("run, held on the disk", memory, partial(run, name))
            timed(f"{name} by external links", memory, lambda: fetch_links(client, answer))
        file = f"{STATEMENTS}/{answer['statement_id']}/result/file?format="
        for format_ in downloads:
            timed(f"download, {format_}", memory, lambda format_=format_: client.drain(file + format_))  # type: ignore[misc]
        end()
        memory.end()


def measure_rates(folder: Path, rows: int, repeat: int = 5) -> None:
    """Measures a round trip, and a result that runs and is fetched whole, by Thrift and in HTTP's formats."""
    with served(folder, RESULTS_CACHE_BYTES_MAX="0") as server:
        ports = server.ports()
        client = Client(ports["http"])

        def inline(text: str) -> int:
            return int(client.run(text)["manifest"]["total_row_count"])

        def linked(name: str) -> Query:
            def run(text: str) -> int:
                answer = client.run(text, disposition="EXTERNAL_LINKS", format=FORMATS[name])
                fetch_links(client, answer)
                client.ask("DELETE", f"{STATEMENTS}/{answer['statement_id']}")
                return int(answer["manifest"]["total_row_count"])

            return run

        with pyhive_query(ports["thrift"]) as thrift, raw_query(ports["thrift"]) as raw:
            compare("SELECT 1, round trip", "SELECT 1", 1, repeat * 8, {"PyHive": thrift, "HTTP": inline})
            variants: Mapping[str, Query] = {
                "Thrift, raw bytes": raw,
                **{f"HTTP, {name}": linked(name) for name in FORMATS},
            }
            for name, path in variants.items():
                compare(f"{rows} rows", BIG.format(rows=rows), rows, repeat, {name: path}, answers=True)


def measure_short(folder: Path, clients: int, seconds: float) -> None:
    with served(folder) as server:
        port = server.ports()["http"]
        Client(port).run("SELECT 1")
        for text in ("SHOW TABLES", "SELECT 1"):
            for count in (1, clients):
                times = short_statements(port, text, count, seconds)
                p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
                print(
                    f"{text:<12} {count:>4} clients: {len(times) / seconds:>6.0f}/s, "
                    f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, p99/p50 {p99 / p50:.1f}",
                    flush=True,
                )


def short_statements(port: int, text: str, clients: int, seconds: float) -> list[float]:
    """Returns each short statement's latency, with `clients` concurrent clients."""
    times: list[float] = []
    start, end = threading.Barrier(clients), [0.0]

    def work() -> None:
        client = Client(port)
        client.run(text)
        start.wait()
        end[0] = end[0] or time.monotonic() + seconds
        while (began := time.monotonic()) < end[0]:
            client.run(text)
            times.append(time.monotonic() - began)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--links", default="arrow,json")
    parser.add_argument("--downloads", default="arrow,parquet,csv")
    parser.add_argument("--only", choices=["rates", "short", "large"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "rates"):
            measure_rates(Path(folder) / "rates", options.rows)
        if options.only in (None, "short"):
            measure_short(Path(folder) / "short", options.clients, options.seconds)
        if options.only in (None, "large"):
            links, downloads = options.links.split(","), list(filter(None, options.downloads.split(",")))
            measure_large(Path(folder) / "large", options.gigabytes, links, downloads)


if __name__ == "__main__":
    main()
