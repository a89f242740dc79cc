"""Other engines' tables, read through the whole pipeline, match their makers' records cell by cell.

Rows are compared as multisets. Older versions are read if their rows are recorded. Invalid tables must fail with a
named error, and tables without recorded rows are compared with other known facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.clients.typed_values import typed
from tests.paths import DAT, GOLDEN, TESTDATA

pytestmark = [pytest.mark.spark, pytest.mark.foreign]

_PACIFIC = "America/Los_Angeles"
# Rows beyond which a table is compared by sorting, since cell by cell in Python takes too long.
_MANY = 2000


@dataclass(frozen=True)
class Case:
    """`zone` is the session zone in which the expected rows were written down."""

    name: str
    folder: Path
    zone: str
    read: Callable[[], pa.Table] = field(repr=False)
    version: int | None = None

    @property
    def query(self) -> str:
        travel = "" if self.version is None else f" VERSION AS OF {self.version}"
        return f"SELECT * FROM delta.`{self.folder}`{travel}"


def _parquet(pattern: Path) -> pa.Table:
    return pa.concat_tables(map(pq.read_table, sorted(pattern.parent.glob(pattern.name))))


def _cases() -> Iterator[Case]:
    for expected in sorted(DAT.glob("*/expected/*")):
        folder = expected.parents[1]
        version = None if expected.name == "latest" else int(expected.name[1:])
        read = partial(_parquet, expected / "table_content/*.parquet")
        yield Case(f"{folder.name}-{expected.name}", folder / "delta", "UTC", read, version)
    for expected in sorted(GOLDEN.glob("**/expected")):
        folder = expected.parent
        zone = _PACIFIC if folder.name == "data-reader-partition-values" else "UTC"
        name = str(folder.relative_to(GOLDEN))
        yield Case(name, folder / "delta", zone, partial(_parquet, expected / "*.parquet"))


CASES = list(_cases())


@pytest.fixture(scope="module")
def engine(spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(allowed_roots=(str(TESTDATA),))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def run(session: LakeSession, text: str) -> pa.Table:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    table = pa.Table.from_batches(list(result.batches()), result.schema)
    result.close()
    return table


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_are_those_recorded(session: LakeSession, case: Case) -> None:
    expected = case.read()
    run(session, f"SET TIME ZONE '{case.zone}'")
    found = run(session, case.query)
    assert sorted(found.column_names) == sorted(expected.column_names)
    if expected.num_rows > _MANY:
        found = found.select(expected.column_names).cast(expected.schema)
        assert _sorted(found) == _sorted(expected)
    else:
        assert _cells(found, expected, case.zone) == _cells(expected, expected, case.zone)


def _cells(table: pa.Table, expected: pa.Table, zone: str) -> Counter[tuple[Any, ...]]:
    columns = [[typed(value, item.type, zone) for value in table[item.name].to_pylist()] for item in expected.schema]
    return Counter(zip(*columns, strict=True))


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])
