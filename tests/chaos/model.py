"""The expected content of the tables, from the outcomes that clients saw.

`events` is append-only. `changes` is changed by UPDATE, DELETE and MERGE; each writer has its own keys and waits for
the outcome of a statement before it sends the next one. After a statement with an unknown outcome the client goes on as
a new writer, so only a writer's last statement can be unknown: its rows are the ones before or after it. Each row has a
nonce that the statement computed. Rows of a statement that ran twice have the same ids with different nonces, and a
counter that an UPDATE incremented twice is too high.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

EVENTS, CHANGES, PAGES = "events", "changes", "pages"
ROWS = 40
PAGES_ROWS = 4000
# Ids of a statement's rows in `events` are number * _SPAN + 0, 1, …; keys of a writer in `changes` correspondingly.
_SPAN = 1000
CREATED = (
    f"CREATE TABLE {EVENTS} (id BIGINT, number BIGINT, nonce STRING)",
    f"CREATE TABLE {CHANGES} (id BIGINT, count BIGINT, number BIGINT, nonce STRING, writer BIGINT)"
    " PARTITIONED BY (writer)",
    f"CREATE TABLE {PAGES} AS SELECT id, concat('row ', id) AS text FROM range(0, {PAGES_ROWS}, 1, 1)",
)
# A writer's key → its row's counter and the number of the statement that changed it last.
Rows = dict[int, tuple[int, int]]


class Fate(Enum):
    """The outcome of a statement, as the server reported it to its client."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Kind(Enum):
    """The kinds of writes, by their first keyword."""

    APPEND = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    MERGE = "MERGE"


@dataclass(frozen=True)
class Write:
    """One statement: `number` is unique in the model, `first` is the first of the writer's keys that it changes."""

    kind: Kind
    number: int
    writer: int
    first: int = 0

    @property
    def text(self) -> str:
        low = self.writer * _SPAN + self.first
        keys = f"writer = {self.writer} AND id >= {low} AND id < {low + ROWS}"
        match self.kind:
            case Kind.APPEND:
                ids = f"range({self.number * _SPAN}, {self.number * _SPAN + ROWS}, 1, 2)"
                return f"INSERT INTO {EVENTS} SELECT id, {self.number}, uuid() FROM {ids}"
            case Kind.UPDATE:
                return f"UPDATE {CHANGES} SET count = count + 1, number = {self.number}, nonce = uuid() WHERE {keys}"
            case Kind.DELETE:
                return f"DELETE FROM {CHANGES} WHERE {keys} AND id % 2 = {self.number % 2}"
            case Kind.MERGE:
                return (
                    f"MERGE INTO {CHANGES} t USING (SELECT id FROM range({low}, {low + ROWS}, 1, 1)) s"
                    f" ON t.id = s.id AND t.writer = {self.writer}"
                    f" WHEN MATCHED THEN UPDATE SET count = t.count + 1, number = {self.number}, nonce = uuid()"
                    " WHEN NOT MATCHED THEN INSERT (id, count, number, nonce, writer)"
                    f" VALUES (s.id, 1, {self.number}, uuid(), {self.writer})"
                )

    def applied(self, rows: Rows) -> Rows:
        """Returns the writer's rows in `changes` after this statement."""
        low = self.writer * _SPAN + self.first
        keys = range(low, low + ROWS)
        match self.kind:
            case Kind.APPEND:
                return rows
            case Kind.UPDATE:
                return rows | {key: (rows[key][0] + 1, self.number) for key in keys if key in rows}
            case Kind.DELETE:
                return {key: row for key, row in rows.items() if key not in keys or key % 2 != self.number % 2}
            case Kind.MERGE:
                return rows | {key: (rows[key][0] + 1 if key in rows else 1, self.number) for key in keys}


@dataclass
class Model:
    """Thread-safe for its clients; `check` and `settle` run while no client writes."""

    fates: dict[int, Fate] = field(default_factory=dict)
    appended: set[int] = field(default_factory=set)
    rows: dict[int, Rows] = field(default_factory=dict)
    unknown: dict[int, Write] = field(default_factory=dict)
    _numbers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def next_write(self, chance: random.Random, writer: int, kinds: Iterable[Kind] = Kind) -> Write:
        """Returns a random statement of a writer; its first change is a MERGE, which creates rows."""
        kind = chance.choice(list(kinds))
        if kind is not Kind.APPEND and not self.rows.get(writer):
            kind = Kind.MERGE
        return Write(kind, self.next_number(), writer, chance.randrange(0, 2 * ROWS, ROWS // 2))

    def record(self, write: Write, fate: Fate) -> None:
        with self._lock:
            self.fates[write.number] = fate
            if write.kind is Kind.APPEND:
                self.appended.add(write.number)
            elif fate is Fate.SUCCEEDED:
                self.rows[write.writer] = write.applied(self.rows.get(write.writer, {}))
            elif fate is Fate.UNKNOWN:
                self.unknown[write.writer] = write

    def settle(self, lake: Path) -> Counter[str]:
        """Returns the number of differences from the tables by name, and learns which unknown statements are there."""
        found = Counter(self._events(read(lake, EVENTS, _EVENTS_QUERY)))
        found.update(self._changes(read(lake, CHANGES, "SELECT writer, id, count, number FROM t")))
        return found

    def _events(self, groups: list[dict[str, Any]]) -> Iterable[str]:
        seen = {row["number"]: row for row in groups}
        for number in seen.keys() - self.appended:
            yield f"rows of nobody ({EVENTS} {number})"
        for number in sorted(self.appended):
            fate, row = self.fates[number], seen.get(number)
            if row is None:
                if fate is Fate.SUCCEEDED:
                    yield f"rows lost ({EVENTS} {number})"
                self.fates[number] = Fate.FAILED if fate is Fate.UNKNOWN else fate
                continue
            if fate is Fate.FAILED:
                yield f"failed write is there ({EVENTS} {number})"
            elif row["n"] > row["ids"]:
                is_twice = row["nonces"] == row["n"]
                yield f"{'write ran twice' if is_twice else 'rows doubled'} ({EVENTS} {number})"
            elif row["n"] < ROWS or (row["low"], row["high"]) != (number * _SPAN, number * _SPAN + ROWS - 1):
                yield f"rows lost ({EVENTS} {number})"
            self.fates[number] = Fate.SUCCEEDED

    def _changes(self, rows: list[dict[str, Any]]) -> Iterable[str]:
        seen: dict[int, Rows] = {}
        for row in rows:
            mine = seen.setdefault(row["writer"], {})
            if row["id"] in mine:
                yield f"rows doubled ({CHANGES} {row['writer']})"
            mine[row["id"]] = (row["count"], row["number"])
        writers = self.rows.keys() | self.unknown.keys()
        for writer in seen.keys() - writers:
            yield f"rows of nobody ({CHANGES} {writer})"
        for writer in sorted(writers):
            expected, mine = self.rows.get(writer, {}), seen.get(writer, {})
            write = self.unknown.pop(writer, None)
            if write and mine == write.applied(expected):
                self.fates[write.number] = Fate.SUCCEEDED
            elif mine == expected:
                if write:
                    self.fates[write.number] = Fate.FAILED
            else:
                yield f"{_difference(expected, mine)} ({CHANGES} {writer})"
            self.rows[writer] = mine


_EVENTS_QUERY = (
    "SELECT number, count(*) AS n, count(DISTINCT id) AS ids, count(DISTINCT nonce) AS nonces, min(id) AS low,"
    " max(id) AS high"
    " FROM t GROUP BY number"
)


def _difference(expected: Rows, found: Rows) -> str:
    if any(found[key][0] > expected[key][0] for key in expected.keys() & found.keys()):
        return "write ran twice"
    if expected.keys() - found.keys():
        return "rows lost"
    return "rows of nobody" if found.keys() - expected.keys() else "rows differ"


def read(lake: Path, table: str, query: str, schema: str = "default") -> list[dict[str, Any]]:
    """Returns the rows of a query over the table `t` as deltalake reads it, independently from the gateway."""
    answer = QueryBuilder().register("t", DeltaTable(lake / schema / table)).execute(query)
    rows: list[dict[str, Any]] = pa.table(answer.read_all()).to_pylist()
    return rows


def log_damage(lake: Path) -> list[str]:
    """Returns a line per table with a gap in its log, or with an added file that is missing or has another size."""
    found = []
    for folder in sorted((lake / "default").iterdir()):
        logs = sorted((folder / "_delta_log").glob("*.json"))
        if [int(log.stem) for log in logs] != list(range(len(logs))):
            found.append(f"gap in log ({folder.name})")
        for line in (line for log in logs for line in log.read_text().splitlines()):
            add = json.loads(line).get("add")
            file = folder / unquote(add["path"]) if add else None
            if file and (not file.exists() or file.stat().st_size != add["size"]):
                found.append(f"file of log damaged ({folder.name})")
    return found
