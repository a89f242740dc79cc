"""Large results and many clients over HTTP: memory, rates, and how long short statements take.

Run `python -m tests.bench.bench_results [--gigabytes 10] [--downloads arrow,csv] [--clients 200] [--only large|short]`.
Memory is the resident set of the server's Python process (its peak, over what it was idle), and beside it that of Java,
whose heap is bounded by spark.driver_memory. The result lies on the disk of the temporary folder while it is fetched.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.server_process import ServerProcess

STATEMENTS = "/api/2.0/sql/statements"
ROW = "SELECT id, id * 0.5 AS half, repeat(cast(id AS string), 12) AS text FROM range({rows})"
ROW_BYTES = 130
"""Of Arrow, for ids of nine digits."""
MEGA = 1 << 20


def resident_bytes(process_id: int) -> int:
    with suppress(OSError), open(f"/proc/{process_id}/statm") as file:
        return int(file.read().split()[1]) * 4096
    return 0


class Memory:
    """The peaks of processes' resident sets, sampled."""

    def __init__(self, *process_ids: int) -> None:
        self._ids = process_ids
        self.idle = [resident_bytes(each) for each in process_ids]
        self.peak = list(self.idle)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = [max(peak, resident_bytes(each)) for peak, each in zip(self.peak, self._ids, strict=True)]

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        content = json.dumps(body) if body is not None else None
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer

    def drain(self, path: str) -> int:
        """The bytes of a document, which are forgotten."""
        self._connection.request("GET", path)
        answer, size = self._connection.getresponse(), 0
        assert answer.status == 200, answer.read()
        while piece := answer.read(MEGA):
            size += len(piece)
        return size

    def run(self, text: str, **options: object) -> dict[str, Any]:
        answer = self.ask("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s", **options})
        while answer.get("status", {}).get("state") in ("PENDING", "RUNNING"):
            answer = self.ask("GET", f"{STATEMENTS}/{answer['statement_id']}?wait_timeout=50s")
        assert answer.get("status", {}).get("state") == "SUCCEEDED", answer
        return answer


def fetch_links(client: Client, answer: dict[str, Any]) -> int:
    """All chunks by their external links, in order."""
    size, index, total = 0, 0, answer["manifest"]["total_chunk_count"]
    while index < total:
        part = client.ask("GET", f"{STATEMENTS}/{answer['statement_id']}/result/chunks/{index}")
        for link in part["external_links"]:
            url = urlsplit(link["external_link"])
            size += client.drain(f"{url.path}?{url.query}")
            index = link["chunk_index"] + 1
    return size


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


def measure_large(folder: Path, gigabytes: float, downloads: list[str]) -> None:
    limit = int(gigabytes * 1.3 * (1 << 30))
    limits = {name: str(limit) for name in ("RESULTS_BYTES_MAX", "RESULTS_DISK_BYTES_MAX", "RESULTS_KEPT_BYTES_MAX")}
    with served(folder, **limits) as server:
        client = Client(server.ports()["http"])
        client.run("SELECT 1")
        (java,) = server.jvms()
        memory = Memory(server.popen.pid, java)
        rows = int(gigabytes * (1 << 30) / ROW_BYTES)
        answer: dict[str, Any] = {}

        def run() -> int:
            format_ = {"disposition": "EXTERNAL_LINKS", "format": "ARROW_STREAM"}
            answer.update(client.run(ROW.format(rows=rows), **format_))
            return int(answer["manifest"]["total_byte_count"])

        timed("run, held on the disk", memory, run)
        timed("Arrow by external links", memory, lambda: fetch_links(client, answer))
        file = f"{STATEMENTS}/{answer['statement_id']}/result/file?format="
        for format_ in downloads:
            timed(f"download, {format_}", memory, lambda format_=format_: client.drain(file + format_))  # type: ignore[misc]
        client.ask("DELETE", f"{STATEMENTS}/{answer['statement_id']}")
        memory.end()


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
    """How long each of many statements took, by so many clients at once."""
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
    parser.add_argument("--downloads", default="arrow,parquet,csv")
    parser.add_argument("--only", choices=["large", "short"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "short":
            measure_large(Path(folder) / "large", options.gigabytes, options.downloads.split(","))
        if options.only != "large":
            measure_short(Path(folder) / "short", options.clients, options.seconds)


if __name__ == "__main__":
    main()
