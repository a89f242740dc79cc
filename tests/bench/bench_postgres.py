"""PostgreSQL's protocol beside HiveServer2 on the same server, and beside PostgreSQL itself with the same client.

Run `python -m tests.bench.bench_postgres [--rows 1000000] [--repeat 5] [--connections 64] [--seconds 10]`. Prints a
round trip of a cached SELECT 1 (p50, and p50 and p99 of many connections), and the time of a client that reads all rows
of a table. PostgreSQL is left out if `postgres` and `initdb` are not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pwd
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import asyncpg
import psycopg
from pyhive import hive

from tests.server_process import ServerProcess

# The user that may run PostgreSQL, which refuses root.
_USER = "nobody"
_COLUMNS = "id BIGINT, half DOUBLE, price DECIMAL(10,2), name STRING, at TIMESTAMP, day DATE"
_FILL = (
    "INSERT INTO big SELECT id, id * 0.5D, CAST(id % 100000 / 100 AS DECIMAL(10,2)), concat('name ', id), "
    "timestamp_seconds(id), date_add(DATE'2000-01-01', CAST(id % 10000 AS INT)) FROM range(0, {rows}, 1, 2)"
)
_PG_COLUMNS = "id int8, half float8, price numeric(10,2), name text, at timestamptz, day date"
_PG_FILL = (
    "INSERT INTO big SELECT i, i * 0.5, (i % 100000) / 100.0, 'name ' || i, to_timestamp(i), "
    "DATE '2000-01-01' + (i % 10000)::int FROM generate_series(0, {rows} - 1) AS i"
)
_READ = "SELECT * FROM big"

Read = Callable[[], int]


@contextmanager
def postgresql(folder: Path) -> Iterator[int]:
    """Yields the port of PostgreSQL; 0 if it is not installed."""
    programs = shutil.which("initdb"), shutil.which("postgres")
    if None in programs:
        yield 0
        return
    entry = pwd.getpwnam(_USER)
    data = folder / "postgresql"
    data.mkdir()
    os.chmod(folder, 0o755)
    os.chown(data, entry.pw_uid, entry.pw_gid)
    run: dict[str, Any] = {"user": entry.pw_uid, "group": entry.pw_gid, "cwd": "/", "stdout": subprocess.DEVNULL}
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    subprocess.run([str(programs[0]), "-D", str(data), "-U", "ada", "--auth=trust"], check=True, env=environment, **run)
    port = 25_432
    options = ["-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}"]
    process = subprocess.Popen([str(programs[1]), "-D", str(data), *options], env=environment, **run)
    try:
        time.sleep(3)
        yield port
    finally:
        process.terminate()
        process.wait()


def _address(port: int) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "user": "ada", "dbname": "postgres"}


def psycopg_reader(port: int, *, binary: bool) -> Read:
    connection = psycopg.connect(**_address(port), autocommit=True)
    return lambda: len(connection.cursor(binary=binary).execute(_READ).fetchall())


def copy_reader(port: int) -> Read:
    connection = psycopg.connect(**_address(port), autocommit=True)

    def read() -> int:
        with connection.cursor() as cursor:
            with cursor.copy(f"COPY ({_READ}) TO STDOUT (FORMAT binary)") as copy:
                for _ in copy:
                    pass
            return cursor.rowcount

    return read


def asyncpg_reader(port: int) -> Read:
    loop = asyncio.new_event_loop()
    address = {"host": "127.0.0.1", "port": port, "user": "ada", "database": "postgres", "ssl": False}
    connection = loop.run_until_complete(asyncpg.connect(**address))
    return lambda: len(loop.run_until_complete(connection.fetch(_READ)))


def adbc_reader(port: int) -> Read:
    connection = adbc_driver_postgresql.dbapi.connect(f"postgresql://ada@127.0.0.1:{port}/postgres")

    def read() -> int:
        with connection.cursor() as cursor:
            cursor.execute(_READ)
            return int(cursor.fetch_arrow_table().num_rows)

    return read


def pyhive_reader(port: int) -> Read:
    connection = hive.connect("127.0.0.1", port)

    def read() -> int:
        with closing(connection.cursor(arraysize=10_000)) as cursor:
            cursor.execute(_READ)
            return len(cursor.fetchall())

    return read


_READERS: Mapping[str, Callable[[int], Read]] = {
    "psycopg, text": lambda port: psycopg_reader(port, binary=False),
    "psycopg, binary": lambda port: psycopg_reader(port, binary=True),
    "COPY, binary": copy_reader,
    "asyncpg": asyncpg_reader,
    "ADBC": adbc_reader,
}


def measure_rows(ports: Mapping[str, int], rows: int, repeat: int) -> None:
    """Measures all rows of the table: the median of each client and system, in turn."""
    for name, open_reader in _READERS.items():
        try:
            readers = {system: open_reader(port) for system, port in ports.items() if system != "hs2" and port}
            times = _alternate(readers, rows, repeat)
        except Exception as error:  # noqa: BLE001 - the other clients are measured
            print(f"{name:<18} failed: {str(error).splitlines()[0][:120]}", flush=True)
            continue
        ratio = f"  ratio {times['ours'] / times['postgres']:.2f}" if "postgres" in times else ""
        print(f"{name:<18} {_shown(times)}{ratio}", flush=True)
    print(f"{'PyHive':<18} {_shown(_alternate({'hs2': pyhive_reader(ports['hs2'])}, rows, repeat))}", flush=True)


def _alternate(readers: Mapping[str, Read], rows: int, repeat: int) -> dict[str, float]:
    times: dict[str, list[float]] = {system: [] for system in readers}
    for number in range(repeat + 1):
        for system, read in readers.items():
            began = time.perf_counter()
            found = read()
            assert found == rows, (system, found)
            if number:
                times[system].append(time.perf_counter() - began)
    return {system: statistics.median(values) for system, values in times.items()}


def _shown(times: Mapping[str, float]) -> str:
    return "  ".join(f"{system} {seconds:6.2f} s" for system, seconds in times.items())


def select_psycopg(port: int) -> Callable[[], object]:
    cursor = psycopg.connect(**_address(port), autocommit=True).cursor()
    return lambda: cursor.execute("SELECT 1").fetchall()


def select_pyhive(port: int) -> Callable[[], object]:
    cursor = hive.connect("127.0.0.1", port).cursor()

    def run() -> object:
        cursor.execute("SELECT 1")
        return cursor.fetchall()

    return run


def measure_short(ports: Mapping[str, int], connections: int, seconds: float) -> None:
    """Measures SELECT 1: alone, and on many connections, each with a thread."""
    systems = {"ours": (select_psycopg, ports["ours"]), "hs2": (select_pyhive, ports["hs2"])}
    if ports["postgres"]:
        systems["postgres"] = (select_psycopg, ports["postgres"])
    for count in (1, connections):
        for system, (connect, port) in systems.items():
            times = _load([connect(port) for _ in range(count)], seconds)
            p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
            print(
                f"SELECT 1, {count:>3} connections: {system:<8} {len(times) / seconds:>6.0f}/s  "
                f"p50 {p50 * 1000:6.2f} ms  p99 {p99 * 1000:6.2f} ms",
                flush=True,
            )


def _load(clients: list[Callable[[], object]], seconds: float) -> list[float]:
    times: list[float] = []
    start = threading.Barrier(len(clients))

    def work(run: Callable[[], object]) -> None:
        run()
        start.wait()
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            run()
            times.append(time.monotonic() - began)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = Path(name)
        (folder / "lake").mkdir()
        server = ServerProcess(
            folder,
            str(folder / "lake"),
            GATEWAY_SPARK_DRIVER_MEMORY="1500m",
            GATEWAY_SPARK_CONF="{}",
            GATEWAY_SERVER_POSTGRES_PORT="0",
        )
        servers.callback(server.end)
        servers.callback(server.popen.terminate)
        own = server.ports()
        other = servers.enter_context(postgresql(folder))
        ports = {"ours": own["postgres"], "hs2": own["thrift"], "postgres": other}
        _fill(own["postgres"], _COLUMNS, _FILL.format(rows=options.rows))
        if other:
            _fill(other, _PG_COLUMNS, _PG_FILL.format(rows=options.rows))
        measure_short(ports, options.connections, options.seconds)
        measure_rows(ports, options.rows, options.repeat)


def _fill(port: int, columns: str, text: str) -> None:
    with psycopg.connect(**_address(port), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE big ({columns})".encode())
        connection.execute(text.encode())


if __name__ == "__main__":
    main()
