"""Memory growth of a server over many statements: one line per interval.

Run `python -m tests.bench.bench_memory [--statements 100000] [--every 5000] [--seconds 3600]`. Eight PyHive connections
take turns with the mix below, each with a separate table, which it drops and recreates every `ROUND` turns, so that no
table grows without end.

- `python`, `java`: each process's resident memory in MB; Java's includes its heap, which grows to its limit;
- `heap`: the minimum used Java heap since the previous line, close to the live set;
- threads and open files in both processes, and files in the server's temporary folder.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyhive import hive
from pyhive.exc import OperationalError

from tests.server_process import ServerProcess

CONNECTIONS = 8
ROUND = 200
LOOK_EVERY_S = 0.5
HEAP = "gateway_spark_heap_used_bytes "


class Server:
    """The measured server, with its minimum heap usage since the last call."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.process = ServerProcess(
            folder,
            str(folder / "lake"),
            GATEWAY_SPARK_DRIVER_MEMORY="1g",
            GATEWAY_SPARK_CONF="{}",
            TMPDIR=str(self.temporary),
        )
        self.ports = self.process.ports()
        self.heap_min = float("inf")

    def look(self) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/metrics") as answer:
            text = answer.read().decode()
        used = next((line for line in text.splitlines() if line.startswith(HEAP)), None)
        if used is not None:
            self.heap_min = min(self.heap_min, float(used.removeprefix(HEAP)))

    def line(self) -> str:
        python, java = self.process.server_pid, self.process.jvms()[0]
        heap, self.heap_min = self.heap_min, float("inf")
        files = sum(path.is_file() for path in self.temporary.rglob("*"))
        shown = [
            f"{name} {_status(process, 'VmRSS') / 1024:6.0f} MB {_status(process, 'Threads'):4} threads"
            f" {len(list(Path(f'/proc/{process}/fd').iterdir())):4} files"
            for name, process in (("python", python), ("java", java))
        ]
        return f"{'   '.join(shown)}   heap {heap / 2**20:5.0f} MB   temporary files {files}"


def _status(process: int, field: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def rounds(connection: int) -> Iterator[str]:
    """Yields a connection's statements, endlessly."""
    own = f"own_{connection}"
    for round_number in count():
        if round_number % ROUND == 0:
            yield f"DROP TABLE IF EXISTS {own}"
            yield f"CREATE TABLE {own} (id BIGINT, name STRING)"
        match round_number % 20:
            case 0:
                yield f"INSERT INTO {own} VALUES ({round_number}, 'name {round_number}')"
            case 5:
                yield f"SELECT count(*), max(name) FROM {own} WHERE id > -1"  # a new version
            case 7:
                yield f"SELECT n % 7 AS k, sum(n + {round_number}) FROM numbers GROUP BY k"  # a new text
            case 11:
                yield f"SELECT nothing_{round_number} FROM numbers"
            case 13:
                yield f"SELECT * FRM numbers WHERE {round_number}"
            case 15:
                yield "SHOW TABLES"
            case 17:
                yield "SELECT state, count(*) FROM system.queries GROUP BY state"
            case place:
                yield f"SELECT sum(n), count(*) FROM numbers WHERE n % 10 = {place}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--statements", type=int, default=100_000)
    options.add_argument("--every", type=int, default=5_000)
    options.add_argument("--seconds", type=float, default=3600, help="the end, however many were answered by then")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_deltalake(folder / "lake" / "default" / "numbers", pa.table({"n": pa.array(range(10_000), pa.int64())}))
        server = Server(folder)
        try:
            ask(server, arguments.statements, arguments.every, arguments.seconds)
        finally:
            server.process.popen.terminate()
            server.process.end()


def ask(server: Server, statements: int, every: int, seconds: float) -> None:
    """Print a line for each `every` statements."""
    requested, ended, start = count(1), threading.Event(), time.monotonic()

    def client(number: int) -> None:
        with closing(hive.connect("127.0.0.1", server.ports["thrift"], username="bench")) as connection:
            cursor = connection.cursor()
            for text in rounds(number):
                if ended.is_set():
                    return
                with suppress(OperationalError):
                    cursor.execute(text)
                    cursor.fetchall() if cursor.description else None
                round_number = next(requested)
                if round_number % every == 0:
                    print(f"{round_number:7} in {time.monotonic() - start:5.0f} s   {server.line()}", flush=True)
                if round_number >= statements or time.monotonic() - start > seconds:
                    ended.set()

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        clients = [pool.submit(client, number) for number in range(CONNECTIONS)]
        while not ended.wait(LOOK_EVERY_S):
            server.look()
        for each in clients:
            each.result()


if __name__ == "__main__":
    main()
