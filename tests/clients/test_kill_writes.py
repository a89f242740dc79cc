"""Interrupted writers: a server killed at any moment, disconnected clients, canceled statements.

An acknowledged write is applied exactly once; another one is applied wholly or not at all. Leftovers are files that no
version references.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyhive import hive
from thrift.transport.TTransport import TTransportException

from tests.clients.drivers import PythonDriver, StatementFailed
from tests.clients.fix_server import RealServer
from tests.clients.http_client import HttpClient
from tests.clients.test_sessions import CLIENTS, IDLE, processors_used
from tests.gateway.http.conftest import eventually
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

BATCH = 200
SLOTS = 3
ENDLESS = "SELECT id FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"
# A client's errors when the server disappears.
LOST = (StatementFailed, TTransportException, OSError, EOFError)


def open_client(port: int) -> PythonDriver:
    return PythonDriver(hive.connect("127.0.0.1", port, username="ada"))


# --- Expected content ------------------------------------------------------------------------------------------------


def rows_of(folder: Path, query: str) -> list[dict[str, int]]:
    """Returns the table `t` as deltalake reads it, independently from our server."""
    answer = QueryBuilder().register("t", DeltaTable(folder)).execute(query)
    rows: list[dict[str, int]] = pa.table(answer.read_all()).to_pylist()
    return rows


def batches(folder: Path) -> dict[int, int]:
    """Returns batch -> rows; each existing batch has each row once."""
    found = rows_of(folder, "SELECT batch, count(*) AS n, count(DISTINCT id) AS d FROM t GROUP BY batch")
    assert all(row["n"] == row["d"] == BATCH for row in found), found
    return {row["batch"]: row["n"] for row in found}


def ensure_sound(folder: Path) -> None:
    """Checks that every commit is complete, and every referenced file exists as logged."""
    logs = sorted((folder / "_delta_log").glob("*.json"))
    assert [int(log.stem) for log in logs] == list(range(len(logs)))
    for log in logs:
        for line in log.read_text().splitlines():
            add = json.loads(line).get("add")
            if add:
                assert (folder / unquote(add["path"])).stat().st_size == add["size"]


@dataclass
class Written:
    """A client's record of its writes; the lake is compared with it."""

    inserted: set[int] = field(default_factory=set)
    slots: dict[int, int] = field(default_factory=dict)
    made: set[int] = field(default_factory=set)

    def statement(self, number: int) -> str:
        rows = f"SELECT {number} AS batch, id FROM range({BATCH})"
        match number % 3:
            case 0:
                return f"INSERT INTO kept {rows}"
            case 1:
                return f"INSERT OVERWRITE slots PARTITION (slot = {number % SLOTS}) {rows}"
            case _:
                return f"CREATE TABLE made_{number} AS {rows}"

    def acknowledged(self, number: int) -> None:
        match number % 3:
            case 0:
                self.inserted.add(number)
            case 1:
                self.slots[number % SLOTS] = number
            case _:
                self.made.add(number)

    def is_there(self, lake: Path, number: int) -> bool:
        """Returns whether the write that was cut off is there; fails unless everything else is as it must be."""
        folder = lake / "default"
        remaining, slots = batches(folder / "kept"), batches(folder / "slots")
        made = {path.name for path in folder.glob("made_*") if (path / "_delta_log" / f"{0:020}.json").exists()}
        for table in ("kept", "slots", *made):
            ensure_sound(folder / table)
        assert self.inserted <= remaining.keys() <= self.inserted | {number}
        slot = number % SLOTS if number % 3 == 1 else None
        slots_left = {batch for key, batch in self.slots.items() if key != slot or number not in slots}
        assert slots.keys() - {number} == slots_left
        names = {f"made_{other}" for other in self.made}
        assert names <= made <= names | {f"made_{number}"}
        for name in made:
            assert batches(folder / name).keys() == {int(name.removeprefix("made_"))}
        return number in remaining or number in slots or f"made_{number}" in made


class KilledServers:
    """Servers over one lake, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lake = folder, folder / "lake"
        self.lake.mkdir()
        self.start()

    def start(self) -> None:
        (self.folder / "ports.json").unlink(missing_ok=True)
        self.process = ServerProcess(self.folder, str(self.lake))
        self.port = self.process.ports()["thrift"]

    def kill(self) -> None:
        jvms = self.process.jvms()
        self.process.popen.kill()
        assert self.process.end() == -signal.SIGKILL
        assert eventually(lambda: not any(Path(f"/proc/{jvm}").exists() for jvm in jvms))


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[KilledServers]:
    opened = KilledServers(tmp_path)
    yield opened
    if opened.process.popen.poll() is None:
        opened.kill()


def write_and_kill(servers: KilledServers, count: int, kill_each: float) -> None:
    """Makes `count` writes by a client that checks and repeats lost ones, while servers are killed."""
    chance = random.Random(count)
    written = Written()
    client = open_client(servers.port)
    client.run("CREATE TABLE kept (batch INT, id BIGINT)")
    client.run("CREATE TABLE slots (batch INT, id BIGINT, slot INT) PARTITIONED BY (slot)")
    longest = 1.0
    for number in range(count):
        is_killed = chance.random() < kill_each
        if is_killed:
            delay = chance.random() * longest
            killer = threading.Timer(delay, servers.process.popen.kill)
            killer.start()
        began = time.monotonic()
        try:
            client.run(written.statement(number))
            written.acknowledged(number)
        except LOST:
            assert is_killed
        longest = max(longest / 2, time.monotonic() - began)
        if is_killed:
            killer.join()
            servers.kill()
            is_there = written.is_there(servers.lake, number)
            servers.start()
            client = open_client(servers.port)
            if not is_there:
                client.run(written.statement(number))
            written.acknowledged(number)
    assert not written.is_there(servers.lake, -1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_server_that_is_killed_again_and_again_loses_and_doubles_nothing(servers: KilledServers) -> None:
    write_and_kill(servers, 100, 0.4)


# --- Servers and sessions at once ------------------------------------------------------------------------------------


def insert_alternating(port: int, table: str, batch_numbers: range) -> None:
    client = open_client(port)
    for number in batch_numbers:
        client.run(f"INSERT INTO {table} SELECT {number} AS batch, id FROM range({BATCH})")
    client.close()


def insert_at_once(ports: list[int], table: str, each: int) -> set[int]:
    """Returns a session for each port; the batches that must be there."""
    ranges = [range(number * 100, number * 100 + each) for number in range(len(ports))]
    with ThreadPoolExecutor(len(ports)) as threads:
        list(threads.map(insert_alternating, ports, repeat(table, len(ports)), ranges))
    return {number for numbers in ranges for number in numbers}


@pytest.fixture
def table(server: RealServer) -> Iterator[Path]:
    """Yields an empty table's folder."""
    name = f"cut_{uuid.uuid4().hex[:8]}"
    client = open_client(server.thrift_port)
    client.run(f"CREATE TABLE {name} (batch INT, id BIGINT)")
    yield server.lake / "default" / name
    client.run(f"DROP TABLE {name}")
    client.close()


def test_eight_sessions_insert_at_once(server: RealServer, table: Path) -> None:
    expected = insert_at_once([server.thrift_port] * 8, table.name, 3)
    assert batches(table).keys() == expected
    ensure_sound(table)


@pytest.mark.slow
def test_two_servers_insert_at_once(server: RealServer, table: Path, tmp_path: Path) -> None:
    """One is stopped twice while it is busy: its Java process ends too, and the other one has its statement."""
    other = ServerProcess(tmp_path, str(server.lake))
    try:
        ports = [server.thrift_port, other.ports()["thrift"]] * 2
        expected = insert_at_once(ports, table.name, 4)
        for port in ports[:2]:
            client = open_client(port)
            assert client.run(f"SELECT count(*), count(DISTINCT batch) FROM {table.name}") == [
                [str(len(expected) * BATCH), str(len(expected))]
            ]
            client.close()
        running = HttpClient(other.ports()["http"]).submit(ENDLESS, wait="0s")
        assert eventually(lambda: processors_used(other) > IDLE)
        jvms = other.jvms()
        other.popen.send_signal(signal.SIGINT)
        assert eventually(lambda: "draining" in other.output)
        other.popen.send_signal(signal.SIGINT)
        code = other.end()
    finally:
        if other.popen.poll() is None:
            other.popen.kill()
            other.end()
    assert code == 1
    assert jvms and eventually(lambda: not any(Path(f"/proc/{jvm}").exists() for jvm in jvms))
    left = HttpClient(server.http_port)
    left.ask("POST", f"/statements/{running['statement_id']}/cancel", {})
    assert left.wait(running)["status"]["state"] == "CANCELED"
    assert batches(table).keys() == expected
    ensure_sound(table)


# --- Cut off by the client -------------------------------------------------------------------------------------------


def cancel_by_thrift(server: RealServer, text: str) -> None:
    cursor = hive.connect("127.0.0.1", server.thrift_port, username="ada").cursor()
    cursor.execute(text, async_=True)
    assert eventually(lambda: processors_used(server.process) > IDLE)
    cursor.cancel()


def cancel_by_http(server: RealServer, text: str) -> None:
    client = HttpClient(server.http_port)
    answer = client.submit(text, wait="0s")
    assert eventually(lambda: processors_used(server.process) > IDLE)
    client.ask("POST", f"/statements/{answer['statement_id']}/cancel", {})
    assert client.wait(answer | {"status": {"state": "RUNNING"}})["status"]["state"] == "CANCELED"


def vanish(server: RealServer, text: str) -> None:
    process = subprocess.Popen([*CLIENTS["pyhive"], str(server.thrift_port), str(server.http_port), text])
    try:
        assert eventually(lambda: processors_used(server.process) > IDLE)
    finally:
        process.kill()
        process.wait()


CUTS: dict[str, Callable[[RealServer, str], None]] = {
    "cancelled over Thrift": cancel_by_thrift,
    "cancelled over HTTP": cancel_by_http,
    "by a client that vanishes": vanish,
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_write_that_is_cut_off_changes_nothing(server: RealServer, table: Path, cut: str) -> None:
    client = open_client(server.thrift_port)
    client.run(f"INSERT INTO {table.name} SELECT 1 AS batch, id FROM range({BATCH})")
    CUTS[cut](server, f"INSERT OVERWRITE {table.name} SELECT 2 AS batch, id FROM ({ENDLESS})")
    assert eventually(lambda: processors_used(server.process) < IDLE)
    assert DeltaTable(table).version() == 1 and batches(table) == {1: BATCH}
    left = {file.name for file in table.glob("*.parquet")}
    assert left == {Path(unquote(uri)).name for uri in DeltaTable(table).file_uris()}
    client.run(f"INSERT INTO {table.name} SELECT 3 AS batch, id FROM range({BATCH})")
    assert batches(table) == {1: BATCH, 3: BATCH}
    client.close()
