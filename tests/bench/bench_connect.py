"""Spark Connect compared with the stock server of the same pyspark, and with HiveServer2 of this gateway.

`SELECT 1` by one and by many connections, large results and a loopback copy of the same Arrow stream, a DataFrame
pipeline over files that both servers read, and the live heap before and after many statements.

Run `python -m tests.bench.bench_connect [--rows 1000000] [--connections 64] [--runs 20] [--statements 10000] [--heap]`.
All servers run on this machine, and the clients alternate between them; prints medians and their ratio (ours over
stock).
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.connect.functions as F
import pyspark.sql.connect.proto as pb2
from pyhive import hive
from pyspark.sql.connect.proto import base_pb2_grpc
from pyspark.sql.connect.session import SparkSession

from tests.bench.stock_server import stock_connect_server
from tests.clients.connect_sessions import remote_session
from tests.server_process import ServerProcess
from tests.soak.sizes import live_heap

BIG = "SELECT id, cast(id AS string) AS s, id * 0.5 AS d FROM range({rows})"
# Java compiles the code of a pipeline during its first runs.
_WARM_UP_RUNS = 5


def connect_run(port: int) -> Callable[[], None]:
    """Returns a run of `SELECT 1` in a session and a connection of its own, by plain calls without reattaching."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    stub = base_pb2_grpc.SparkConnectServiceStub(grpc.insecure_channel(f"127.0.0.1:{port}", options))
    request = pb2.ExecutePlanRequest(
        session_id=str(uuid.uuid4()), plan=pb2.Plan(root=pb2.Relation(sql=pb2.SQL(query="SELECT 1")))
    )
    request.user_context.user_id = "bench"

    def run() -> None:
        request.operation_id = str(uuid.uuid4())
        assert any(response.HasField("arrow_batch") for response in stub.ExecutePlan(request))

    return run


def hive_run(port: int) -> Callable[[], None]:
    cursor = hive.connect("127.0.0.1", port, username="bench").cursor()

    def run() -> None:
        cursor.execute("SELECT 1")
        assert len(cursor.fetchall()) == 1

    return run


def load(make: Callable[[int], Callable[[], None]], port: int, connections: int, runs: int) -> list[float]:
    """Returns the times in milliseconds of `runs` statements by each of the connections at once."""
    opened = [make(port) for _ in range(connections)]
    began = threading.Barrier(connections)

    def one(run: Callable[[], None]) -> list[float]:
        run()  # warm up
        began.wait()
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1000)
        return times

    with ThreadPoolExecutor(connections) as pool:
        return sorted(found for times in pool.map(one, opened) for found in times)


def compare_load(connections: int, runs: int, ports: Mapping[str, int]) -> None:
    shown, p50 = [], {}
    for system, port in ports.items():
        times = load(hive_run if system == "HiveServer2" else connect_run, port, connections, runs)
        p50[system] = statistics.median(times)
        shown.append(f"{system} p50 {p50[system]:7.1f} ms p99 {times[len(times) * 99 // 100]:7.1f} ms")
    name = f"SELECT 1, {connections} connections"
    print(f"{name:28} {'  '.join(shown)}  ratio {p50['ours'] / p50['stock']:.2f}", flush=True)


def compare_heaps(statements: int, ports: Mapping[str, int], processes: Mapping[str, int]) -> None:
    """Prints the live heap of each server before and after statements by eight connections, each with a session of its
    own, after as many as a tenth to warm up.
    """
    for system, port in ports.items():
        load(connect_run, port, 8, statements // 80)
        begin = live_heap(processes[system])
        load(connect_run, port, 8, statements // 8)
        end = live_heap(processes[system])
        change = 100 * (end / begin - 1)
        print(f"live heap, {statements} statements: {system} {begin} → {end} KiB ({change:+.1f} %)", flush=True)


def compare(name: str, runs: int, systems: Mapping[str, Callable[[], Any]]) -> None:
    times: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(_WARM_UP_RUNS):
        for run in systems.values():
            run()
    for _ in range(runs):
        for system, run in systems.items():
            start = time.perf_counter()
            run()
            times[system].append((time.perf_counter() - start) * 1000)
    medians = {system: statistics.median(found) for system, found in times.items()}
    shown = "  ".join(f"{system} {median:8.1f} ms" for system, median in medians.items())
    print(f"{name:28} {shown}  ratio {medians['ours'] / medians['stock']:.2f}", flush=True)


def copied(table: pa.Table) -> Callable[[], None]:
    """Returns a run that sends the table's IPC stream over a loopback connection, and reads it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()

    def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = threading.Thread(target=_send, args=(listener, content))
            sender.start()
            with socket.create_connection(listener.getsockname()) as connection, connection.makefile("rb") as stream:
                assert pa.ipc.open_stream(stream).read_all().num_rows == table.num_rows
            sender.join()

    return run


def _send(listener: socket.socket, content: pa.Buffer) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(content)


def pipeline(spark: SparkSession, source: Any) -> Callable[[], Any]:
    """Returns a run of a DataFrame that filters, joins, groups and sorts."""
    names = spark.createDataFrame([(number, f"group {number}") for number in range(10)], "key int, name string")

    def run() -> Any:
        rows = source().filter(F.col("id") % 3 == 0).withColumn("key", (F.col("id") % 10).cast("int"))
        grouped = rows.join(names, "key").groupBy("name").agg(F.sum("d").alias("total"), F.count("*").alias("n"))
        found = grouped.orderBy(F.desc("total")).collect()
        assert len(found) == 10
        return found

    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--statements", type=int, default=10_000)
    parser.add_argument("--heap", action="store_true", help="measure only the live heap of this gateway")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "lake").mkdir()
        attach = '{"spark.driver.extraJavaOptions" = "-XX:-DisableAttachMechanism"}'  # for jcmd
        settings = {"GATEWAY_SPARK_DRIVER_MEMORY": "1500m", "GATEWAY_SPARK_CONF": attach}
        settings |= {"GATEWAY_SERVER_CONNECT_PORT": "0", "GATEWAY_LAKE_ALLOWED_ROOTS": f'["{folder}"]'}
        server = ServerProcess(folder, str(folder / "lake"), **settings)
        opened.callback(server.end)
        opened.callback(server.popen.terminate)
        ports = server.ports()
        if options.heap:
            compare_heaps(options.statements, {"ours": ports["connect"]}, {"ours": server.jvms()[0]})
            return
        stock = opened.enter_context(stock_connect_server(folder))
        both = {"ours": ports["connect"], "stock": stock.port}
        for connections in (1, options.connections):
            compare_load(connections, options.runs, {**both, "HiveServer2": ports["thrift"]})
        sessions = {system: opened.enter_context(remote_session(port)) for system, port in both.items()}
        big = BIG.format(rows=options.rows)
        reads = {system: (lambda spark=spark: spark.sql(big).toArrow()) for system, spark in sessions.items()}
        table = reads["stock"]()
        compare(f"{options.rows} rows", 5, {**reads, "loopback copy": copied(table)})
        file = folder / "rows.parquet"
        pq.write_table(table, file)
        runs = {
            system: pipeline(spark, lambda spark=spark: spark.read.parquet(str(file)))
            for system, spark in sessions.items()
        }
        compare("DataFrame over files", 10, runs)
        compare_heaps(options.statements, both, {"ours": server.jvms()[0], "stock": stock.process_id})


if __name__ == "__main__":
    main()
