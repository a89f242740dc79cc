"""The Spark Thrift Server in the same pyspark, as the gateway's counterpart."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

STOCK_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
START_S = 180


@dataclass(frozen=True, slots=True)
class StockServer:
    """Its Thrift port, and its only process's id."""

    port: int
    process_id: int


@contextmanager
def stock_server(folder: Path) -> Iterator[StockServer]:
    """Yields a server with as many cores and as much memory as ours; it ends with the block."""
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
    hiveconf = {
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(port),
        "hive.server2.async.exec.wait.queue.size": "1000",  # with 100 it rejects statements on 200 connections
    }
    command += [
        "spark-internal",
        *(part for key, value in hiveconf.items() for part in ("--hiveconf", f"{key}={value}")),
    ]
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
