"""Servers that are killed while they change or maintain tables: each statement is there wholly or not at all.

A model knows the rows before and after each statement. After a kill the table has the one or the other; deltalake reads
it, which knows nothing of our server. A statement that is not there is sent again to the next server.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.clients.drivers import PythonDriver, StatementFailed
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
    """The rows of a table; no key is there twice, and the log has no gap."""
    versions = sorted(int(log.stem) for log in (folder / "_delta_log").glob("*.json"))
    assert versions == list(range(len(versions)))
    found = rows_of(folder, "SELECT k, v FROM t")
    rows = {row["k"]: row["v"] for row in found}
    assert len(rows) == len(found)
    return rows


@dataclass
class Model:
    """What `changed` and the table that was cloned from it have, and which versions can be restored."""

    lake: Path
    rows: Rows = field(default_factory=dict)
    cloned: Rows | None = None
    kept: list[tuple[int, Rows]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.lake / "default" / "changed"

    def landed(self, number: int) -> tuple[Path, Rows]:
        """A folder with a file of new rows, below the lake."""
        folder, rows = self.lake / "landing" / str(number), self.new(number)
        folder.mkdir(parents=True, exist_ok=True)
        columns = {"k": pa.array(rows.keys(), pa.int32()), "v": pa.array(rows.values(), pa.int32())}
        pq.write_table(pa.table(columns), folder / "rows.parquet")
        return folder, rows

    def new(self, number: int) -> Rows:
        return {1000 + number * 20 + each: number for each in range(20)}


@dataclass(frozen=True)
class Change:
    """A statement, and what it makes of the tables. `loses_old`: older versions cannot be restored afterwards; `makes`:
    a folder that becomes a table; `done`: what it says where it was there already.
    """

    text: str
    rows: Rows
    cloned: Rows | None
    loses_old: bool = False
    makes: Path | None = None
    done: str = "?"


def _insert(model: Model, number: int) -> Change:
    values = ", ".join(map(str, model.new(number).items()))
    return Change(f"INSERT INTO changed VALUES {values}", model.rows | model.new(number), model.cloned)


def _update(model: Model, number: int) -> Change:
    rows = {k: v + 1 if k % 7 == number % 7 else v for k, v in model.rows.items()}
    return Change(f"UPDATE changed SET v = v + 1 WHERE k % 7 = {number % 7}", rows, model.cloned)


def _delete(model: Model, number: int) -> Change:
    rows = {k: v for k, v in model.rows.items() if k % 13 != number % 13}
    return Change(f"DELETE FROM changed WHERE k % 13 = {number % 13}", rows, model.cloned)


def _merge(model: Model, number: int) -> Change:
    source = {number * 3 + each * 2: number for each in range(40)}
    rows = {k: v for k, v in model.rows.items() if k not in source or v % 2} | {
        k: v for k, v in source.items() if k not in model.rows or model.rows[k] % 2
    }
    text = (
        f"MERGE INTO changed AS t USING (SELECT CAST({number * 3} + id * 2 AS INT) AS k, {number} AS v FROM range(40)) "
        "AS s ON t.k = s.k WHEN MATCHED AND t.v % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    return Change(text, rows, model.cloned)


def _replace(model: Model, number: int) -> Change:
    rows = {k: v for k, v in model.rows.items() if v % 5 != number % 5} | {number: number % 5}
    text = f"INSERT INTO changed REPLACE WHERE v % 5 = {number % 5} OR k = {number} VALUES ({number}, {number % 5})"
    return Change(text, rows, model.cloned)


def _restore(model: Model, number: int) -> Change:
    if not model.kept:
        return _same("FSCK REPAIR TABLE changed")(model, number)
    version, rows = model.kept[number % len(model.kept)]
    return Change(f"RESTORE TABLE changed TO VERSION AS OF {version}", rows, model.cloned)


def _copy(model: Model, number: int) -> Change:
    folder, rows = model.landed(number)
    text = f"COPY INTO changed FROM '{folder}' FILEFORMAT = PARQUET"
    return Change(text, model.rows | rows, model.cloned)


def _convert(model: Model, number: int) -> Change:
    folder, _ = model.landed(number)
    return Change(f"CONVERT TO DELTA parquet.`{folder}`", model.rows, model.cloned, makes=folder)


def _clone(kind: str) -> Callable[[Model, int], Change]:
    text = f"CREATE OR REPLACE TABLE cloned {kind} CLONE changed"
    return lambda model, _: Change(text, model.rows, model.rows)


def _drop_vectors(model: Model, number: int) -> Change:
    if not DeltaTable(model.folder).protocol().reader_features:
        return _same("FSCK REPAIR TABLE changed")(model, number)
    text = "ALTER TABLE changed DROP FEATURE deletionVectors"
    return Change(text, model.rows, model.cloned, loses_old=True, done="DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT")


def _same(text: str, *, loses_old: bool = False) -> Callable[[Model, int], Change]:
    return lambda model, _: Change(text, model.rows, model.cloned, loses_old)


CHANGES: list[Callable[[Model, int], Change]] = [
    _update,
    _merge,
    _same("OPTIMIZE changed"),
    _delete,
    _insert,
    _restore,
    _replace,
    _same("VACUUM changed RETAIN 0 HOURS", loses_old=True),
    _merge,
    _clone("SHALLOW"),
    _update,
    _copy,
    _same("REORG TABLE changed APPLY (PURGE)"),
    _delete,
    _convert,
    _same("OPTIMIZE changed ZORDER BY (v)"),
    _clone("DEEP"),
    _drop_vectors,
    _same(f"ALTER TABLE changed SET TBLPROPERTIES ({VECTORS})"),
    _insert,
    _same("ANALYZE TABLE changed COMPUTE DELTA STATISTICS"),
]


class Killing:
    """A client that looks after each kill, and sends again what is not there."""

    def __init__(self, servers: KilledServers, properties: str) -> None:
        self.servers, self.model = servers, Model(servers.lake)
        self.client = self._client()
        self.client.run(f"CREATE TABLE changed (k INT, v INT) TBLPROPERTIES ({properties})")
        for first in (0, 100):
            self.client.run(f"INSERT INTO changed SELECT id, id % 10 FROM range({first}, {first + 100})")
        self.model.rows = {k: k % 10 for k in range(200)}
        self.longest_s = 1.0

    def _client(self) -> PythonDriver:
        client = open_client(self.servers.port)
        client.run(NO_CHECK)
        return client

    def send(self, change: Change, kill_after: float | None) -> None:
        """`kill_after` is a part of the time that the longest of the last statements took."""
        if kill_after is None:
            self._run(change)
        else:
            killer = threading.Timer(kill_after * self.longest_s, self.servers.process.popen.kill)
            killer.start()
            try:
                self._run(change)
                was_told = True
            except LOST:
                was_told = False
            killer.join()
            self.servers.kill()
            is_there = self._is_there(change)
            assert is_there is not False or not was_told, change.text
            self.servers.start()
            self.client = self._client()
            if not is_there:
                self._run(change)
        self._take_up(change)

    def _run(self, change: Change) -> None:
        began = time.monotonic()
        try:
            self.client.run(change.text)
        except StatementFailed as error:
            if change.done not in str(error):
                raise
        self.longest_s = max(self.longest_s / 2, time.monotonic() - began)

    def _is_there(self, change: Change) -> bool | None:
        """None where nobody could tell; fails for anything between before and after."""
        pairs = [(rows_in(self.model.folder), self.model.rows, change.rows)]
        pairs.append((self._made(self.model.lake / "default" / "cloned"), self.model.cloned, change.cloned))
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

    def _take_up(self, change: Change) -> None:
        model = self.model
        if change.loses_old:
            model.kept.clear()
        model.rows, model.cloned = change.rows, change.cloned
        model.kept.append((DeltaTable(model.folder).version(), change.rows))

    def ensure_right(self) -> None:
        """Also by the server itself, whose rows have one id each."""
        assert rows_in(self.model.folder) == self.model.rows
        found = self.client.run("SELECT k, v FROM changed")
        assert {int(k): int(v) for k, v in found} == self.model.rows and len(found) == len(self.model.rows)
        if self.model.cloned is not None:
            assert rows_in(self.model.lake / "default" / "cloned") == self.model.cloned


@pytest.mark.timeout(600)
def test_a_killed_server_leaves_rows_as_before_or_after(servers: KilledServers) -> None:
    killing = Killing(servers, f"{VECTORS}, {FEED}, {TRACKED}")
    for number, (make, kill_after) in enumerate(zip(CHANGES[:4], (None, 0.7, None, None), strict=True)):
        killing.send(make(killing.model, number), kill_after)
    killing.ensure_right()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(20))
def test_servers_that_are_killed_again_and_again(servers: KilledServers, part: int) -> None:
    """The parts are 200 statements together."""
    chance = random.Random(part)
    killing = Killing(servers, PROPERTIES[part % len(PROPERTIES)])
    for number in range(10):
        change = CHANGES[(part * 10 + number) % len(CHANGES)](killing.model, number)
        killing.send(change, chance.random() * 1.1 if chance.random() < 0.4 else None)
    killing.ensure_right()
