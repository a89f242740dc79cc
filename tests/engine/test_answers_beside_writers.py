"""Concurrent readers and writers over a Delta and an Iceberg table: each answer matches the versions that its statement
reports.

The writers change rows in every way, and record each version's rows. The readers repeat the same few queries in
sessions with a result cache whose answers hardly fit in memory. No reported version is older than the newest one at the
statement's start.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.accesses import Commit, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark

ANN = Identity("ann")
Rows = Mapping[int, int]
Answer = list[tuple[Any, ...]]

ONE_TABLE: dict[str, Callable[[Rows], Answer]] = {
    "SELECT count(*), sum(n) FROM {table} WHERE n > -1": lambda rows: [(len(rows), sum(rows.values()))],
    "SELECT id % 3 AS k, count(*), sum(n) FROM {table} WHERE id >= 0 GROUP BY 1 ORDER BY 1": lambda rows: [
        (k, len(group), sum(group))
        for k in range(3)
        if (group := [n for each, n in rows.items() if each % 3 == k])
    ],
    "SELECT id, n FROM {table} WHERE id < 20 ORDER BY id": lambda rows: sorted(
        (each, n) for each, n in rows.items() if each < 20
    ),
    "SELECT max(n) FROM {table} WHERE id IN (SELECT id FROM {table} WHERE id % 2 = 0)": lambda rows: [
        (max(n for each, n in rows.items() if each % 2 == 0),)
    ],
}  # fmt: skip
BOTH = "SELECT count(*), sum(d.n - i.n) FROM d JOIN i ON d.id = i.id WHERE d.id >= 0"


def _joined(one: Rows, other: Rows) -> Answer:
    both = one.keys() & other.keys()
    return [(len(both), sum(one[each] - other[each] for each in both))]


@dataclass
class Written:
    """Rows in each version of a table; only its writer changes it."""

    name: str
    rows: dict[int, int] = field(default_factory=dict)
    versions: dict[int, Rows] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)

    def note(self, version: int | None) -> None:
        if version is None:
            return
        self.versions[version] = dict(self.rows)
        self.order.append(version)

    def step(self, random: Random) -> str:
        """Returns a change, which is in `rows` already."""
        start, part = max(self.rows) + 1, random.randrange(5)
        some = [each for each in self.rows if each % 5 == part and each > 1]
        match random.randrange(6):
            case 0 | 1:
                new = {start + at: random.randrange(100) for at in range(4)}
                self.rows |= new
                return f"INSERT INTO {self.name} VALUES {', '.join(f'({each}, {n})' for each, n in new.items())}"
            case 2 if len(self.rows) > 30:
                for each in some:
                    del self.rows[each]
                return f"DELETE FROM {self.name} WHERE id % 5 = {part} AND id > 1"
            case 3:
                self.rows |= {each: self.rows[each] + 1 for each in some}
                return f"UPDATE {self.name} SET n = n + 1 WHERE id % 5 = {part} AND id > 1"
            case 4:
                matched = {each: self.rows[each] + 1 for each in range(10) if each in self.rows}
                self.rows |= dict.fromkeys((*range(10), start), 7) | matched
                source = f"SELECT id FROM range(10) UNION ALL SELECT {start}L"
                return (
                    f"MERGE INTO {self.name} t USING ({source}) s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 7)"
                )
            case _:
                self.rows = {each: n for each, n in self.rows.items() if each < 40}
                return f"INSERT OVERWRITE {self.name} SELECT id, n FROM {self.name} WHERE id < 40"


class Race:
    """Shared state; counts are totals over all readers."""

    def __init__(self, engine: LakeEngine) -> None:
        self.engine, self.ended = engine, Event()
        self.tables = {name: Written(name) for name in ("d", "i")}
        session = self.opened()
        for name, kind in (("d", ""), ("i", "USING iceberg")):
            self.query_version(session, f"CREATE TABLE {name} {kind} AS SELECT id, 0L AS n FROM range(30)")
            version = self.query_version(session, f"INSERT INTO {name} VALUES (100, 5)")
            self.tables[name].rows |= dict.fromkeys(range(30), 0) | {100: 5}
            self.tables[name].note(version)
        session.close()

    def opened(self) -> LakeSession:
        return self.engine.open_session(ANN, settings={}, catalog=None, schema=None)

    def query_version(self, session: LakeSession, text: str) -> int | None:
        """Returns the version that a statement makes, if it changes anything."""
        made: list[Commit] = []
        session.execute(text, StatementRequest(identity=ANN, on_commit=made.append)).close()
        return made[-1].version if made else None

    def writes(self, table: Written, seed: int) -> int:
        random, session = Random(seed), self.opened()
        try:
            while not self.ended.is_set():
                text = table.step(random)
                table.note(self.query_version(session, text))
                time.sleep(random.choice((0, 0.05, 0.5)))
        finally:
            self.ended.set()
            session.close()
        return len(table.order)

    def reads(self, seed: int) -> list[tuple[str, dict[str, int], dict[str, int], Answer, bool]]:
        """Returns for each read the text, the number of versions at its start, the reported versions, the answer, and
        if it was cached.
        """
        random, session, found = Random(seed), self.opened(), []
        try:
            while not self.ended.is_set():
                text = random.choice([*ONE_TABLE, BOTH]).format(table=random.choice("di"))
                before = {name: len(table.order) for name, table in self.tables.items()}
                found.append((text, before, *self.run_query(session, text)))
        finally:
            self.ended.set()
            session.close()
        return found

    def run_query(self, session: LakeSession, text: str) -> tuple[dict[str, int], Answer, bool]:
        reported: list[StatementAccess] = []
        request = StatementRequest(identity=ANN, on_authorized=reported.append)
        result = session.execute(text, request)
        answer = pa.Table.from_batches(result.batches(), result.schema)
        result.close()
        versions = {
            each.name.rpartition(".")[2].strip("`"): each.version
            for each in reported[-1].objects
            if each.version is not None
        }  # fmt: skip
        rows = list(zip(*(column.to_pylist() for column in answer.columns), strict=True))
        return versions, rows, request.profile.is_from_cache

    def run(self, seconds: float) -> Counter[str]:
        counts: Counter[str] = Counter()
        with ThreadPoolExecutor(6) as pool:
            writing = [pool.submit(self.writes, table, at) for at, table in enumerate(self.tables.values())]
            reading = [pool.submit(self.reads, seed) for seed in range(4)]
            self.ended.wait(seconds)
            self.ended.set()
            counts["versions"] = sum(each.result() for each in writing)
            for reader in reading:
                for text, before, versions, answer, is_cached in reader.result():
                    counts["answers"] += 1
                    counts["from the cache"] += is_cached
                    self.ensure_exact(text, before, versions, answer)
        return counts

    def ensure_exact(self, text: str, before: dict[str, int], versions: dict[str, int], answer: Answer) -> None:
        assert versions, text
        held = {}
        for name, version in versions.items():
            table = self.tables[name]
            assert version in table.versions, (text, name, version)
            assert table.order.index(version) >= before[name] - 1, (text, name, version)
            held[name] = table.versions[version]
        if text == BOTH:
            assert answer == _joined(held["d"], held["i"]), (text, versions)
            return
        ((name, rows),) = held.items()
        (expected,) = (of for template, of in ONE_TABLE.items() if template.format(table=name) == text)
        assert answer == expected(rows), (text, versions)


@pytest.fixture
def engine(tmp_path: Path, spark_driver: SparkDriver) -> Iterator[LakeEngine]:
    """Yields an engine whose cache holds some dozen answers in memory."""
    options = EngineOptions(lake_folder=str(tmp_path), result_cache_bytes=1 << 13, result_cache_entry_bytes=1 << 12)
    yield LakeEngine(open_sources(options), spark_driver)


def test_each_answer_is_of_the_versions_that_it_names(engine: LakeEngine) -> None:
    counts = Race(engine).run(8)
    assert counts["from the cache"] and counts["versions"] > 4, counts


@pytest.mark.slow
def test_result_cache_under_concurrent_writers(engine: LakeEngine) -> None:
    counts = Race(engine).run(120)
    assert counts["from the cache"] and counts["versions"] > 50, counts
