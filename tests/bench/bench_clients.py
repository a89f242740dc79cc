"""What a client waits for, beside the stock Spark Thrift Server out of the same pyspark: start, SELECT 1, big results.

Run `python -m tests.bench.bench_clients [--rows 1000000] [--repeat 40]`. Both servers run at once on this machine, the
clients take turns between them, so that both meet the same noise; medians and their ratio (ours over stock) are shown.
The stock server has no HTTP statement interface and refuses Databricks' connector, so ours stands alone there.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from databricks import sql
from impala.dbapi import connect as impala_connect
from pyhive import hive

from tests.server_process import ServerProcess

STOCK_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
BIG = "SELECT id, cast(id AS string) AS s, id * 0.5 AS d FROM range({rows})"
START_S = 180


@contextmanager
def stock_server(folder: Path) -> Iterator[int]:
    """The Thrift port of a stock server with as many cores and as much memory as ours."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1500m"]
    command += ["--class", STOCK_CLASS]
    command += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    hiveconf = {"hive.server2.thrift.bind.host": "127.0.0.1", "hive.server2.thrift.port": str(port)}
    command += [
        "spark-internal",
        *(part for key, value in hiveconf.items() for part in ("--hiveconf", f"{key}={value}")),
    ]
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "stock.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_for(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError("the stock server ended at its start")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the stock server did not start")


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def pyhive_query(port: int) -> Callable[[str], int]:
    connection = hive.connect("127.0.0.1", port, username="bench")

    def run(text: str) -> int:
        cursor = connection.cursor(arraysize=10_000)
        cursor.execute(text)
        rows = len(cursor.fetchall())
        cursor.close()
        return rows

    return run


def impyla_query(port: int) -> Callable[[str], int]:
    cursor = impala_connect("127.0.0.1", port, auth_mechanism="PLAIN", user="bench", password="x").cursor()

    def run(text: str) -> int:
        cursor.execute(text)
        return len(cursor.fetchall())

    return run


def http_query(port: int) -> Callable[[str], int]:
    url = f"http://127.0.0.1:{port}/api/2.0/sql/statements"

    def run(text: str) -> int:
        body = json.dumps({"statement": text}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return len(json.load(answer)["result"]["data_array"])

    return run


def databricks_query(port: int) -> Callable[[str], int]:
    path = "/sql/1.0/warehouses/any"
    uri = f"http://127.0.0.1:{port}{path}"
    connection = sql.connect("127.0.0.1", path, access_token="any", _connection_uri=uri, enable_telemetry=False)
    cursor = connection.cursor()

    def run(text: str) -> int:
        return int(cursor.execute(text).fetchall_arrow().num_rows)

    return run


def compare(name: str, text: str, rows: int, repeat: int, systems: dict[str, Callable[[str], int]]) -> None:
    """Run `text` in turns and print the medians; each run must give `rows` rows."""
    times: dict[str, list[float]] = {system: [] for system in systems}
    for query in systems.values():
        query(text)  # warm up
    for _ in range(repeat):
        for system, query in systems.items():
            found: list[int] = []
            times[system].append(timed(lambda query=query, found=found: found.append(query(text))))  # type: ignore[misc]
            assert found == [rows], (system, found)
    medians = {system: statistics.median(values) for system, values in times.items()}
    shown = "  ".join(f"{system} {median:9.1f} ms" for system, median in medians.items())
    ratio = f"  ratio {medians['ours'] / medians['stock']:.2f}" if "stock" in medians else ""
    speeds = "  ".join(f"{system} {rows / median:7.0f} k rows/s" for system, median in medians.items() if rows > 1)
    print(f"{name:24} {shown}{ratio}  {speeds}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = Path(name)
        (folder / "lake").mkdir()
        start = time.perf_counter()
        server = ServerProcess(folder, str(folder / "lake"), GATEWAY_SPARK_DRIVER_MEMORY="1500m")
        servers.callback(server.end)
        servers.callback(server.popen.terminate)
        ports = server.ports()
        ours = time.perf_counter() - start
        start = time.perf_counter()
        stock = servers.enter_context(stock_server(folder))
        print(f"start                    ours {ours:9.1f} s   stock {time.perf_counter() - start:9.1f} s")
        big = BIG.format(rows=options.rows)
        for client, connect in (("PyHive", pyhive_query), ("impyla", impyla_query)):
            systems = {"ours": connect(ports["thrift"]), "stock": connect(stock)}
            compare(f"SELECT 1, {client}", "SELECT 1", 1, options.repeat, systems)
            compare(f"{options.rows} rows, {client}", big, options.rows, 3, systems)
        ours_alone = {"ours": databricks_query(ports["http"])}
        compare("SELECT 1, Databricks", "SELECT 1", 1, options.repeat, ours_alone)
        compare(f"{options.rows} rows, Databricks", big, options.rows, 3, ours_alone)
        compare("SELECT 1, HTTP", "SELECT 1", 1, options.repeat, {"ours": http_query(ports["http"])})


if __name__ == "__main__":
    main()
