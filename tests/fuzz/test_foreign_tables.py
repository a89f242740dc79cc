"""Random foreign tables under random filters: the rows match a plain model, for any reader configuration.

The model is a Python list of rows. Every filter runs with pushdown, in Spark's vectorized and row-based readers, and
over all files without pushdown. DuckDB and deltalake read the tables that they support.

`FUZZ_TABLES`, `FUZZ_SEED` and `FUZZ_KINDS` are set by `make fuzz-tables`.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import run
from tests.engine.peer_readers import PEERS, Rows, comparable
from tests.engine.read_paths import READ_PATHS, Readers, open_readers
from tests.fuzz.filters import Filter, random_filter
from tests.fuzz.foreign_kinds import MAY_BE_REFUSED, Kind, selected_kinds
from tests.fuzz.foreign_logs import LogWriter
from tests.fuzz.foreign_tables import Table, random_kinds, random_table
from tests.samples import some

pytestmark = pytest.mark.spark

FILTERS = 15
_SEED = os.environ.get("FUZZ_SEED") or "repeat"
_COUNT = int(os.environ.get("FUZZ_TABLES") or 40)
_IN_EVERY_RUN = 4

# Kinds that a peer reads correctly: DuckDB loses mapped columns' partition values, deltalake does not support deletion
# vectors.
_PEER_KINDS = {
    "deltalake": frozenset(Kind) - {Kind.BY_NAME, Kind.BY_ID, Kind.VECTORS, Kind.IN_FILES, *MAY_BE_REFUSED},
    "duckdb": frozenset(Kind) - {Kind.BY_NAME, Kind.BY_ID, Kind.IN_FILES, *MAY_BE_REFUSED},
}
_PEER_KINDS = {peer: kinds - {Kind.COMPACTION_DOUBLED, Kind.ABSOLUTE_PATHS} for peer, kinds in _PEER_KINDS.items()}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def readers(lake: Path, spark_driver: SparkDriver) -> Iterator[Readers]:
    with open_readers(lake, spark_driver) as opened:
        yield opened


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.mark.parametrize("number", some(range(_IN_EVERY_RUN), (0, 3)))
def test_rows_are_those_of_the_model(readers: Readers, session: LakeSession, lake: Path, number: int) -> None:
    _check(readers, session, lake, f"every run {number}")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(_COUNT))
def test_rows_of_many_tables_are_those_of_the_model(
    readers: Readers, session: LakeSession, lake: Path, number: int
) -> None:
    _check(readers, session, lake, f"{_SEED} {number}")


def _check(readers: Readers, session: LakeSession, lake: Path, seed: str) -> None:
    random = Random(seed)
    table = random_table(random, lake / re.sub(r"\W", "_", seed), random_kinds(random, selected_kinds()))
    LogWriter(random, table).write()
    reported = f"seed {seed!r}: {', '.join(sorted(table.kinds))}"
    filters = [random_filter(random, table.operands()) for _ in range(FILTERS)]
    try:
        if Kind.DEAD_METADATA_ALTERED in table.kinds:
            run(session, f"ALTER TABLE {table.folder.name} SET TBLPROPERTIES ('some' = 'thing')")
        _compare(readers, table, filters, reported)
    except SqlError as error:
        assert table.kinds & MAY_BE_REFUSED and error.condition.startswith("DELTA_"), f"{reported}: {error}"
        return
    _compare_peers(table, reported)


def _compare(readers: Readers, table: Table, filters: list[Filter], reported: str) -> None:
    name, columns = table.folder.name, [column.name for column in (*table.columns, *table.partitions)]
    whole = [tuple(row[name] for name in columns) for row in table.rows()]
    every = readers.plan(f"SELECT {', '.join(columns)} FROM {name}")
    filtered = readers.plan(
        " UNION ALL ".join(f"SELECT {at} AS filter, id FROM {name} WHERE {each.sql}" for at, each in enumerate(filters))
    )
    for path in READ_PATHS:
        assert _shown(readers.rows(every, path)) == _shown(whole), f"{reported}, {path}"
        found: list[list[int]] = [[] for _ in filters]
        for at, number in readers.rows(filtered, path):
            found[at].append(number)
        for ids, each in zip(found, filters, strict=True):
            expected = sorted(row["id"] for row in table.rows() if each.holds(row))
            assert sorted(ids) == expected, f"{reported}, {path}: {each.sql}"


def _compare_peers(table: Table, reported: str) -> None:
    columns = [column.name for column in (*table.columns, *table.partitions)]
    truth = _arrow_rows(table, columns)
    for peer, kinds in _PEER_KINDS.items():
        if table.kinds <= kinds:
            assert PEERS[peer](table.folder, columns) == truth, f"{reported}, {peer}"


def _arrow_rows(table: Table, columns: list[str]) -> Rows:
    return comparable(pa.Table.from_pylist([{name: row[name] for name in columns} for row in table.rows()]))


def _shown(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Instants in one zone, sorted."""
    return sorted((tuple(map(_cell, row)) for row in rows), key=repr)


def _cell(value: Any) -> Any:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value
