"""Servers killed while they change or maintain tables: each statement is applied wholly or not at all.

Several clients send statements, each on separate tables, until the server is killed. A model has the rows before and
after each statement. After a kill the tables have the one or the other; deltalake reads them independently. A statement
that was not applied is sent again to the next server.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.clients.drivers import StatementFailed
from tests.clients.test_kill_writes import LOST, KilledServers, open_client, rows_of

pytestmark = [pytest.mark.clients, pytest.mark.spark]

Rows: TypeAlias = dict[int, int]
NO_CHECK = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
PROPERTIES = (VECTORS, f"{VECTORS}, {FEED}, {TRACKED}", FEED, TRACKED)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[KilledServers]:
    opened = KilledServers(tmp_path)
    yield opened
    if opened.process.popen.poll() is None:
        opened.kill()


def rows_in(folder: Path) -> Rows:
    """Returns a table's rows; no key is repeated, and the log has no gap."""
    versions = sorted(int(log.stem) for log in (folder / "_delta_log").glob("*.json"))
    assert versions == list(range(len(versions)))
    found = rows_of(folder, "SELECT k, v FROM t")
    rows = {row["k"]: row["v"] for row in found}
    assert len(rows) == len(found)
    return rows


@dataclass
class Model:
    """Rows in a client's `table` and its clone, `clone`, and the versions that can be restored."""

    lake: Path
    lane: int
    rows: Rows = field(default_factory=dict)
    cloned: Rows | None = None
    versions: list[tuple[int, Rows]] = field(default_factory=list)

    @property
    def table(self) -> str:
        return f"changed_{self.lane}"

    @property
    def clone(self) -> str:
        return f"cloned_{self.lane}"

    @property
    def folder(self) -> Path:
        return self.lake / "default" / self.table

    def landed(self, number: int) -> tuple[Path, Rows]:
        """Returns a folder with a file of new rows, below the lake."""
        folder, rows = self.lake / "landing" / f"{self.lane}_{number}", self.new(number)
        folder.mkdir(parents=True, exist_ok=True)
        columns = {"k": pa.array(rows.keys(), pa.int32()), "v": pa.array(rows.values(), pa.int32())}
        pq.write_table(pa.table(columns), folder / "rows.parquet")
        return folder, rows

    def new(self, number: int) -> Rows:
        return {1000 + number * 20 + each: number for each in range(20)}


@dataclass(frozen=True)
class Change:
    """A statement and its effect. `loses_old`: older versions cannot be restored afterwards; `makes`: a folder that
    becomes a table; `done`: its answer if it was already applied.
    """

    text: str
    rows: Rows
    cloned: Rows | None
    loses_old: bool = False
    makes: Path | None = None
    done: str = "?"


def _insert(model: Model, number: int) -> Change:
    values = ", ".join(map(str, model.new(number).items()))
    return Change(f"INSERT INTO {model.table} VALUES {values}", model.rows | model.new(number), model.cloned)


def _update(model: Model, number: int) -> Change:
    rows = {k: v + 1 if k % 7 == number % 7 else v for k, v in model.rows.items()}
    return Change(f"UPDATE {model.table} SET v = v + 1 WHERE k % 7 = {number % 7}", rows, model.cloned)


def _delete(model: Model, number: int) -> Change:
    rows = {k: v for k, v in model.rows.items() if k % 13 != number % 13}
    return Change(f"DELETE FROM {model.table} WHERE k % 13 = {number % 13}", rows, model.cloned)


def _merge(model: Model, number: int) -> Change:
    source = {number * 3 + each * 2: number for each in range(40)}
    rows = {k: v for k, v in model.rows.items() if k not in source or v % 2} | {
        k: v for k, v in source.items() if k not in model.rows or model.rows[k] % 2
    }
    text = (
        f"MERGE INTO {model.table} AS t USING (SELECT CAST({number * 3} + id * 2 AS INT) AS k, {number} AS v "
        "FROM range(40)) AS s ON t.k = s.k WHEN MATCHED AND t.v % 2 = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    return Change(text, rows, model.cloned)


def _replace(model: Model, number: int) -> Change:
    rows = {k: v for k, v in model.rows.items() if v % 5 != number % 5} | {number: number % 5}
    where = f"v % 5 = {number % 5} OR k = {number}"
    text = f"INSERT INTO {model.table} REPLACE WHERE {where} VALUES ({number}, {number % 5})"
    return Change(text, rows, model.cloned)


def _overwrite(model: Model, number: int) -> Change:
    rows = dict.fromkeys(range(number, number + 150), number)
    text = f"INSERT OVERWRITE {model.table} SELECT CAST(id AS INT), {number} FROM range({number}, {number + 150})"
    return Change(text, rows, model.cloned)


def _create(model: Model, _: int) -> Change:
    text = f"CREATE OR REPLACE TABLE {model.clone} AS SELECT * FROM {model.table}"
    return Change(text, model.rows, model.rows)


def _restore(model: Model, number: int) -> Change:
    older = [(version, rows) for version, rows in model.versions if version < model.versions[-1][0]]
    if not older:
        return _same("FSCK REPAIR TABLE {t}")(model, number)
    version, rows = older[number % len(older)]
    return Change(f"RESTORE TABLE {model.table} TO VERSION AS OF {version}", rows, model.cloned)


def _copy(model: Model, number: int) -> Change:
    folder, rows = model.landed(number)
    text = f"COPY INTO {model.table} FROM '{folder}' FILEFORMAT = PARQUET"
    return Change(text, model.rows | rows, model.cloned)


def _convert(model: Model, number: int) -> Change:
    folder, _ = model.landed(number)
    return Change(f"CONVERT TO DELTA parquet.`{folder}`", model.rows, model.cloned, makes=folder)


def _clone(kind: str) -> Callable[[Model, int], Change]:
    def made(model: Model, _: int) -> Change:
        return Change(f"CREATE OR REPLACE TABLE {model.clone} {kind} CLONE {model.table}", model.rows, model.rows)

    return made


def _drop_vectors(model: Model, number: int) -> Change:
    if not DeltaTable(model.folder).protocol().reader_features:
        return _same("FSCK REPAIR TABLE {t}")(model, number)
    text = f"ALTER TABLE {model.table} DROP FEATURE deletionVectors"
    return Change(text, model.rows, model.cloned, loses_old=True, done="DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT")


def _same(text: str, *, loses_old: bool = False) -> Callable[[Model, int], Change]:
    return lambda model, _: Change(text.replace("{t}", model.table), model.rows, model.cloned, loses_old)


CHANGES: list[Callable[[Model, int], Change]] = [
    _update,
    _merge,
    _same("OPTIMIZE {t}"),
    _delete,
    _insert,
    _overwrite,
    _restore,
    _replace,
    _create,
    _same("VACUUM {t} RETAIN 0 HOURS", loses_old=True),
    _merge,
    _clone("SHALLOW"),
    _update,
    _copy,
    _same("REORG TABLE {t} APPLY (PURGE)"),
    _delete,
    _convert,
    _same("OPTIMIZE {t} ZORDER BY (v)"),
    _clone("DEEP"),
    _drop_vectors,
    _same(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({VECTORS})"),
    _insert,
    _same("ANALYZE TABLE {t} COMPUTE DELTA STATISTICS"),
]


class Client:
    """A client that sends statements; after the server is killed it determines if its pending one was applied."""

    def __init__(self, servers: KilledServers, lane: int) -> None:
        self.servers, self.model = servers, Model(servers.lake, lane)
        self._number = lane * 4
        self.connect()
        self.driver.run(f"CREATE TABLE {self.model.table} (k INT, v INT) TBLPROPERTIES ({self._properties})")
        for first in (0, 100):
            self.driver.run(f"INSERT INTO {self.model.table} SELECT id, id % 10 FROM range({first}, {first + 100})")
        self.model.rows = {k: k % 10 for k in range(200)}
        self.pending: Change | None = None

    @property
    def _properties(self) -> str:
        return PROPERTIES[self.model.lane % len(PROPERTIES)]

    def connect(self) -> None:
        self.driver = open_client(self.servers.port)
        self.driver.run(NO_CHECK)

    def work(self, is_killed: threading.Event) -> None:
        """Until the server is killed."""
        while True:
            if self.pending is None:
                self.pending = CHANGES[self._number % len(CHANGES)](self.model, self._number)
                self._number += 1
            try:
                self.send()
            except LOST:
                if not is_killed.is_set():
                    raise
                return

    def send(self) -> None:
        """Sends the pending statement."""
        assert self.pending is not None
        try:
            self.driver.run(self.pending.text)
        except StatementFailed as error:
            if self.pending.done not in str(error):
                raise
        self.adopt()

    def look(self) -> bool:
        """Returns if the pending statement was applied; it is no longer pending then."""
        assert self.pending is not None
        is_there = self._is_there(self.pending)
        if is_there:
            self.adopt()
        return bool(is_there)

    def _is_there(self, change: Change) -> bool | None:
        """Returns None if undecidable; fails for any state between before and after."""
        model = self.model
        pairs: list[tuple[Rows | None, Rows | None, Rows | None]] = [(rows_in(model.folder), model.rows, change.rows)]
        pairs.append((self._made(model.lake / "default" / model.clone), model.cloned, change.cloned))
        if change.makes is not None:
            made = {row["k"]: row["v"] for row in pq.read_table(change.makes / "rows.parquet").to_pylist()}
            pairs.append((self._made(change.makes), None, made))
        for found, before, after in pairs:
            assert found in (before, after), change.text
        seen = {found == after for found, before, after in pairs if before != after}
        assert len(seen) < 2, change.text
        return seen.pop() if seen else None

    def _made(self, folder: Path) -> Rows | None:
        return rows_in(folder) if (folder / "_delta_log" / f"{0:020}.json").exists() else None

    def adopt(self) -> None:
        model, change, self.pending = self.model, self.pending, None
        assert change is not None
        if change.loses_old:
            model.versions.clear()
        model.rows, model.cloned = change.rows, change.cloned
        model.versions.append((DeltaTable(model.folder).version(), change.rows))

    def ensure_right(self) -> None:
        """Also by the server itself, whose rows have one id each."""
        model = self.model
        assert rows_in(model.folder) == model.rows
        found = self.driver.run(f"SELECT k, v FROM {model.table}")
        assert {int(k): int(v) for k, v in found} == model.rows and len(found) == len(model.rows)
        if model.cloned is not None:
            assert rows_in(model.lake / "default" / model.clone) == model.cloned


COMMIT = ".json"


def files_below(lake: Path, suffix: str) -> set[str]:
    """Returns files in tables and logs, and temporary files."""
    return {f"{folder}/{name}" for folder, _, names in os.walk(lake) for name in names if name.endswith(suffix)}


def kill(servers: KilledServers, clients: list[Client], after_files: int, suffix: str = "") -> list[str]:
    """Kills the server while all clients send statements and have written `after_files` files with this suffix; returns
    the interrupted texts with their outcomes. So kills come at any step, at any machine speed, and right after a
    commit, before its client gets the answer.
    """
    is_killed = threading.Event()
    known = files_below(servers.lake, suffix)
    new: set[str] = set()
    with ThreadPoolExecutor(len(clients)) as threads:
        working = [threads.submit(client.work, is_killed) for client in clients]
        while len(new) < after_files and not any(each.done() for each in working):
            new |= files_below(servers.lake, suffix) - known
            time.sleep(0.001)
        is_killed.set()
        servers.kill()
    for each in working:
        each.result()
    cut = [client.pending.text for client in clients if client.pending is not None]
    found = [client.look() for client in clients]
    servers.start()
    for client in clients:
        client.connect()
    return [f"{'there' if is_there else 'not there'}: {text}" for is_there, text in zip(found, cut, strict=True)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_server_leaves_rows_as_before_or_after(servers: KilledServers) -> None:
    clients = [Client(servers, lane) for lane in range(3)]
    kill(servers, clients, 20)
    for client in clients:
        if client.pending is not None:
            client.send()
        client.ensure_right()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(9))
def test_servers_that_are_killed_again_and_again(servers: KilledServers, part: int) -> None:
    """The parts cut off 216 statements together."""
    chance = random.Random(part)
    clients = [Client(servers, lane) for lane in range(part, part + 6)]
    for _ in range(2):
        print("\n".join(kill(servers, clients, chance.randrange(1, 100))))
        print("\n".join(kill(servers, clients, chance.randrange(1, 15), COMMIT)))
    for client in clients:
        client.ensure_right()
