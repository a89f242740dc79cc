"""Large statements and bulk writes by real clients over Thrift and HTTP.

Run `python -m tests.bench.bench_bulk [--values 100000] [--rows 10000] [--singles 2000]`. Three parts, each on a fresh
table on the local disk: statements with `--values` values in IN; `--rows` VALUES rows in one INSERT, with or without
constraints, generated and identity columns and a default; and `--singles` rows by `executemany`, and by a prepared
statement of Hive's JDBC driver, which send a statement for each. For the last, prints each quarter's rate, and Python's
and Java's processor time per statement.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from databricks import sql
from pyhive import hive

from tests.bench.jdbc import Jdbc, jdbc
from tests.server_process import ServerProcess

COLUMNS = "id BIGINT, name STRING, d DOUBLE, day DATE, ok BOOLEAN"
CHECKED = (
    "id BIGINT NOT NULL, name STRING, d DOUBLE, day DATE, ok BOOLEAN, g BIGINT GENERATED ALWAYS AS (id * 2), "
    "i BIGINT GENERATED ALWAYS AS IDENTITY, e STRING DEFAULT 'none', CONSTRAINT positive CHECK (id >= 0)"
)
PROPERTIES = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
NAMES = "(id, name, d, day, ok)"


class Server:
    """A gateway, and the processor time that it took."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        (folder / "lake").mkdir()
        process = ServerProcess(
            folder, str(folder / "lake"), GATEWAY_SPARK_DRIVER_MEMORY="1500m", GATEWAY_SPARK_CONF="{}"
        )
        stack.callback(process.end)
        stack.callback(process.popen.terminate)
        self.ports = process.ports()
        self._pids = (process.server_pid, process.jvms()[0])

    def busy_ms(self) -> tuple[float, ...]:
        """Returns Python's and Java's processor time in ms."""
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._pids]
        return tuple((int(each[11]) + int(each[12])) * 1000 / os.sysconf("SC_CLK_TCK") for each in fields)


def timed(server: Server, name: str, work: Callable[[], object], count: int = 1) -> None:
    """Does something that is `count` statements, and prints a line."""
    before, start = server.busy_ms(), time.perf_counter()
    work()
    spent = time.perf_counter() - start
    python, java = ((now - then) / count for then, now in zip(before, server.busy_ms(), strict=True))
    rate = f"{count / spent:7.0f}/s" if count > 1 else f"{spent:7.2f} s"
    print(f"{name:44}{rate}   Python {python:6.1f} ms  Java {java:6.1f} ms  load {os.getloadavg()[0]:.1f}", flush=True)


def measure_lists(server: Server, cursor: Any, count: int) -> None:
    """Runs each statement twice: Java has not compiled the code for the first one."""
    numbers = ", ".join(str(number * 7) for number in range(count))
    texts = ", ".join(f"'n{number * 7}'" for number in range(count))
    cursor.execute("CREATE TABLE listed (id BIGINT, name STRING)")
    cursor.execute(f"INSERT INTO listed SELECT id, concat('n', id) FROM range({count * 2})")
    for head in ("SELECT count(*) FROM listed", "DELETE FROM listed"):
        for condition in (f"id IN ({numbers})", f"name IN ({texts})"):
            name = f"{head.split()[0]} WHERE {condition.split()[0]} IN ({count})"
            for _ in range(2):
                timed(server, name, partial(cursor.execute, f"{head} WHERE {condition}"))


def measure_rows(server: Server, cursor: Any, count: int) -> None:
    cursor.execute(f"CREATE TABLE plain ({COLUMNS})")
    cursor.execute(f"CREATE TABLE checked ({CHECKED}) {PROPERTIES}")
    rows = ", ".join(f"({k}, 'it\\'s {k}', {k}.5, '2024-01-{k % 28 + 1:02}', true)" for k in range(count))
    cast = rows.replace("(", "(cast(").replace(", 'it", " AS bigint), 'it")
    statements = {
        "INSERT VALUES": f"INSERT INTO plain VALUES {rows}",
        "INSERT (columns) VALUES": f"INSERT INTO plain {NAMES} VALUES {rows}",
        "INSERT SELECT FROM (VALUES)": f"INSERT INTO plain SELECT * FROM (VALUES {rows}) AS v(a, b, c, d, e)",
        "INSERT VALUES with casts": f"INSERT INTO plain VALUES {cast}",
        "INSERT VALUES, all checks": f"INSERT INTO checked {NAMES} VALUES {rows}",
    }
    for name, text in statements.items():
        for _ in range(3):
            timed(server, f"{name}, {count} rows", partial(cursor.execute, text))
    text = f"INSERT INTO plain VALUES {', '.join(['(%s, %s, %s, %s, %s)'] * count)}"
    given = [value for k in range(count) for value in (k, f"it's {k}", k + 0.5, "2024-01-01", True)]
    timed(server, f"PyHive's parameters, {count} rows", partial(cursor.execute, text, given))


def measure_singles(server: Server, cursor: Any, client: str, count: int) -> None:
    table, is_hive = f"singles_{client}", client == "pyhive"
    cursor.execute(f"CREATE TABLE {table} ({COLUMNS})")
    text = f"INSERT INTO {table} VALUES ({', '.join(['%s' if is_hive else '?'] * 5)})"
    day = "2024-01-01" if is_hive else date(2024, 1, 1)
    for first in range(0, count, count // 4):
        rows = [(k, f"name {k}", k + 0.5, day, True) for k in range(first, first + count // 4)]
        name = f"executemany of {client}, rows {first} to {first + len(rows)}"
        timed(server, name, partial(cursor.executemany, text, rows), len(rows))
    cursor.execute(f"SELECT count(DISTINCT id) FROM {table}")
    assert cursor.fetchall()[0][0] == count


def measure_prepared(server: Server, jvm: Jdbc, cursor: Any, count: int) -> None:
    """Runs `count` prepared statements of Hive's JDBC driver; `cursor` checks the rows."""
    cursor.execute(f"CREATE TABLE singles_jdbc ({COLUMNS})")
    connection = jvm.connect(server.ports["thrift"])
    for first in range(0, count, count // 4):
        work = partial(jvm.insert, connection, first, count // 4, "INSERT INTO singles_jdbc VALUES (?, ?, ?, ?, ?)")
        timed(server, f"INSERT of hive-jdbc, rows {first} to {first + count // 4}", work, count // 4)
    connection.close()
    cursor.execute("SELECT count(DISTINCT id) FROM singles_jdbc")
    assert cursor.fetchall()[0][0] == count


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--values", type=int, default=100_000)
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--singles", type=int, default=2000)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = Server(stack, Path(folder))
        connection = stack.enter_context(closing(hive.connect("127.0.0.1", server.ports["thrift"], username="bench")))
        path = "/sql/1.0/warehouses/any"
        databricks = sql.connect(
            server_hostname="127.0.0.1",
            http_path=path,
            access_token="any",
            _connection_uri=f"http://127.0.0.1:{server.ports['http']}{path}",
            enable_telemetry=False,
        )
        stack.callback(databricks.close)
        measure_singles(server, connection.cursor(), "pyhive", arguments.singles)
        measure_singles(server, databricks.cursor(), "databricks", arguments.singles)
        measure_prepared(server, stack.enter_context(jdbc()), connection.cursor(), arguments.singles)
        measure_lists(server, connection.cursor(), arguments.values)
        measure_rows(server, connection.cursor(), arguments.rows)


if __name__ == "__main__":
    main()
