"""Executors that are killed while statements run, and a model of the table that the statements change."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pyhive import exc, hive

from tests.chaos.model import log_damage, read
from tests.clusters.spark_cluster import SparkCluster
from tests.server_process import ServerProcess

TABLE = "default.killed"
CREATED = f"CREATE TABLE {TABLE} (id BIGINT, n BIGINT, text STRING, CONSTRAINT positive CHECK (n >= 0))"
# Statements take 1 to 6 s with this number of rows in a step.
_STEP = 20_000
_DELAY_MAX_S = 4.0
# A rest of a year's prime, so that each statement changes rows in each file.
_PARTS = 7


class KillRun:
    """One table: every statement's outcome is compared, cell by cell, with a model and with another reader."""

    def __init__(self, cluster: SparkCluster, server: ServerProcess, lake: Path, chance: random.Random) -> None:
        self.cluster, self.server, self.lake, self.chance = cluster, server, lake, chance
        connection = hive.connect("127.0.0.1", server.ports()["thrift"], username="ann")
        self._cursor = connection.cursor()
        self._cursor.execute(CREATED)
        self.rows: dict[int, int] = {}
        self.counts = Counter[str]()
        self.violations: list[str] = []
        self._next = 0

    def run(self, kills: int, until: float) -> None:
        """Runs statements with a kill in each, until so many were killed or the time (monotonic seconds) is reached."""
        while self.counts["kills"] < kills and time.monotonic() < until and not self.violations:
            self.cluster.wait_for_executors(1 if self.chance.random() < 0.3 else 2)
            text, change = self._statement()
            self._execute(text, change)
            self._compare()

    def _statement(self) -> tuple[str, Callable[[dict[int, int]], dict[int, int]]]:
        """Returns a statement, and what it makes of the rows."""
        part = self.chance.randrange(_PARTS)
        kinds = ["INSERT", "UPDATE", "DELETE", "MERGE", "OPTIMIZE", "SELECT"]
        kind = "INSERT" if len(self.rows) < _STEP else self.chance.choice(kinds)
        self.counts[kind] += 1
        low = self._next
        match kind:
            case "INSERT":
                self._next += _STEP
                text = "repeat(sha2(CAST(id AS STRING), 256), 4)"
                source = f"SELECT id, id % 10, {text} FROM range({low}, {low + _STEP}, 1, 4)"
                return f"INSERT INTO {TABLE} {source}", lambda rows: rows | {k: k % 10 for k in range(low, low + _STEP)}
            case "UPDATE":
                text = f"UPDATE {TABLE} SET n = n + 1, text = reverse(text) WHERE id % {_PARTS} = {part}"
                return text, lambda rows: {k: n + (k % _PARTS == part) for k, n in rows.items()}
            case "DELETE":
                end = low - _STEP // 2
                text = f"DELETE FROM {TABLE} WHERE id % {_PARTS} = {part} AND id < {end}"
                return text, lambda rows: {k: n for k, n in rows.items() if k % _PARTS != part or k >= end}
            case "MERGE":
                self._next += _STEP // 2
                first, last = low - _STEP // 2, low + _STEP // 2
                text = (
                    f"MERGE INTO {TABLE} t USING (SELECT id FROM range({first}, {last}, 1, 4)) s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT (id, n, text)"
                    " VALUES (s.id, 0, 'merged')"
                )
                return text, lambda rows: rows | {k: rows.get(k, -1) + 1 for k in range(first, last)}
            case "OPTIMIZE":
                return f"OPTIMIZE {TABLE}", dict
            case _:
                return f"SELECT id, n FROM {TABLE} DISTRIBUTE BY id % 5", dict

    def _execute(self, text: str, change: Callable[[dict[int, int]], dict[int, int]]) -> None:
        killed = threading.Event()
        killer = threading.Timer(self.chance.uniform(0.05, _DELAY_MAX_S), self._kill, (killed,))
        killer.start()
        try:
            self._cursor.execute(text)
            found = dict(self._cursor.fetchall()) if text.startswith("SELECT") else None
        except exc.Error as error:
            self.counts["failed statements"] += 1
            self.violations += [] if "SQLSTATE" in str(error) else [f"error without a condition: {error}"]
        else:
            self.rows = change(self.rows)
            if found is not None and found != self.rows:
                self.violations.append(f"a read returned {len(found)} rows, other than the model's {len(self.rows)}")
        self.counts["kills in statements"] += killed.is_set()
        killer.cancel()
        killer.join()

    def _kill(self, killed: threading.Event) -> None:
        executors = self.cluster.executors()
        if not executors:
            return
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(executors), signal.SIGKILL)
            self.counts["kills"] += 1
            killed.set()

    def _compare(self) -> None:
        found = read(self.lake, "killed", "SELECT id, n FROM t")
        if len(found) != len(self.rows) or {row["id"]: row["n"] for row in found} != self.rows:
            self.violations.append(f"{len(found)} rows, other than the model's {len(self.rows)}")
        self.violations += log_damage(self.lake)
