"""Drivers whose `executemany` sends a statement per row, with a concurrent reader on another connection."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from databricks import sql
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive

from tests.clients.drivers import jdbc_connect
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]

ROWS = 120
PROPERTIES = "TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')"


def open_pyhive(server: RealServer) -> Any:
    return hive.connect("127.0.0.1", server.thrift_port, username="ada")


def open_databricks(server: RealServer) -> Any:
    path = "/sql/1.0/warehouses/any"
    uri = f"http://127.0.0.1:{server.http_port}{path}"
    options = {"server_hostname": "127.0.0.1", "http_path": path, "access_token": "any", "enable_telemetry": False}
    return sql.connect(**options, _connection_uri=uri)


class Sent:
    """One connection's rows: sent ones, and acknowledged ones."""

    def __init__(self) -> None:
        self.sent = self.acknowledged = 0

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yields rows to `executemany`, which takes one when the previous one was acknowledged."""
        for number in range(ROWS):
            self.sent = number + 1
            yield number, f"name {number}"
            self.acknowledged = number + 1


@pytest.mark.parametrize(
    ("open_writer", "marker"),
    [
        pytest.param(open_pyhive, "%s", id="PyHive"),
        pytest.param(open_databricks, "?", id="databricks-sql-connector", marks=pytest.mark.slow),
    ],
)
def test_reader_counts_every_acknowledged_row_once_beside_executemany(
    server: RealServer, open_writer: Callable[[RealServer], Any], marker: str
) -> None:
    table, sent, counts = f"rows_{uuid.uuid4().hex[:8]}", Sent(), list[tuple[int, int, int, int]]()

    def write() -> None:
        with closing(open_writer(server)) as connection:
            text = f"INSERT INTO {table} VALUES ({marker}, {marker})"
            cursor = connection.cursor()
            for row in sent.rows():
                cursor.executemany(text, [row])

    with closing(open_pyhive(server)) as connection, ThreadPoolExecutor(1) as threads:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TABLE {table} (id BIGINT, name STRING) {PROPERTIES}")
        writer = threads.submit(write)
        while not writer.done() or not counts:
            minimum = sent.acknowledged
            cursor.execute(f"SELECT count(*), count(DISTINCT id) FROM {table} WHERE id >= 0")
            ((count, distinct),) = cursor.fetchall()
            counts.append((minimum, count, distinct, sent.sent))
        writer.result()
        cursor.execute(f"SELECT id FROM {table} ORDER BY id")
        ids = [row[0] for row in cursor.fetchall()]
    assert not [found for found in counts if not found[0] <= found[1] == found[2] <= found[3]]
    assert ids == list(range(ROWS)) and len({count for _, count, _, _ in counts}) > 2
    log = server.lake / "default" / table / "_delta_log"
    operations = [json.loads(file.read_text().splitlines()[0])["commitInfo"] for file in log.glob("*.json")]
    assert any(info["operation"] == "OPTIMIZE" for info in operations)
    # While rows follow each other, only the newest of the versions that are due gets a checkpoint.
    assert list(log.glob("*.checkpoint*.parquet"))


def test_hive_jdbc_inserts_row_by_row_since_the_driver_has_no_batches(jvm: JavaGateway, server: RealServer) -> None:
    table = f"rows_{uuid.uuid4().hex[:8]}"
    connection = jdbc_connect(jvm, f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default")
    assert not connection.getMetaData().supportsBatchUpdates()
    plain = connection.createStatement()
    plain.execute(f"CREATE TABLE {table} (id INT, name STRING)")
    prepared = connection.prepareStatement(f"INSERT INTO {table} VALUES (?, ?)")
    for number in range(20):
        prepared.setInt(1, number)
        prepared.setString(2, f"it's {number}")
        prepared.executeUpdate()
    for call in (lambda: plain.addBatch("SELECT 1"), plain.executeBatch, prepared.addBatch, prepared.executeBatch):
        with pytest.raises(Py4JJavaError) as raised:
            call()
        assert raised.value.java_exception.getClass().getSimpleName() == "SQLFeatureNotSupportedException"
    result = plain.executeQuery(f"SELECT count(DISTINCT name), min(name), sum(id) FROM {table}")
    assert result.next()
    assert [result.getString(number) for number in (1, 2, 3)] == ["20", "it's 0", "190"]
    connection.close()
