"""The servers in the same pyspark, as the gateway's counterparts: Spark Thrift Server, and Spark Connect's."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

STOCK_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
START_S = 180


@dataclass(frozen=True, slots=True)
class StockServer:
    """Its port, and its only process's id."""

    port: int
    process_id: int


@contextmanager
def stock_server(folder: Path) -> Iterator[StockServer]:
    """Yields a server with as many cores and as much memory as ours; it ends with the block."""
    port = _free_port()
    hive = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    hiveconf = {
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(port),
        "hive.server2.async.exec.wait.queue.size": "1000",  # with 100 it rejects statements on 200 connections
    }
    arguments = [part for key, value in hiveconf.items() for part in ("--hiveconf", f"{key}={value}")]
    with _submitted(
        folder, STOCK_CLASS, port, {"spark.hadoop.javax.jdo.option.ConnectionURL": hive}, arguments
    ) as found:
        yield found


@contextmanager
def stock_connect_server(folder: Path) -> Iterator[StockServer]:
    """Yields Spark Connect's server with as many cores and as much memory as ours; it ends with the block."""
    port = _free_port()
    with _submitted(folder, CONNECT_CLASS, port, {"spark.connect.grpc.binding.port": str(port)}, []) as found:
        yield found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _submitted(
    folder: Path, main_class: str, port: int, settings: Mapping[str, str], arguments: Sequence[str]
) -> Iterator[StockServer]:
    home = Path(pyspark.__file__).parent
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **settings,
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1500m"]
    command += ["--class", main_class]
    command += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command += ["spark-internal", *arguments]
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "stock.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_for(port, process)
            yield StockServer(port, process.pid)
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
