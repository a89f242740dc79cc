"""deltalake's tables, created in every way that it supports, have the same rows for us in every version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import table
from tests.engine.peer_readers import Rows, comparable

pytestmark = pytest.mark.spark

_DAY = dt.date(2024, 2, 29)
_MOMENT = dt.datetime(2024, 2, 29, 1, 2, 3, 456789)


def _rows(first: int = 0, count: int = 20) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": [None if i % 7 == 3 else f"n{i}" for i in ids],
            "day": [_DAY + dt.timedelta(days=i % 3) for i in ids],
        }
    )


def _types() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "b": [True, None],
            "y": pa.array([-128, None], pa.int8()),
            "s": pa.array([32767, None], pa.int16()),
            "f": pa.array([float("nan"), None], pa.float32()),
            "d": [-0.0, None],
            "c": pa.array([Decimal("-1234567890.123456789"), None], pa.decimal128(38, 9)),
            "x": [b"\x00\xff", None],
            "ts": pa.array([_MOMENT.replace(tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
            "ntz": pa.array([_MOMENT, None], pa.timestamp("us")),
            "l": pa.array([[1, None], None], pa.list_(pa.int64())),
            "t": pa.array([{"a": 1, "l": [{"b": "x"}]}, None]),
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )


def _partitioned_by_all(folder: Path) -> None:
    values = {
        "b": [True, None, False],
        "i": pa.array([-1, None, 2**31 - 1], pa.int32()),
        "c": pa.array([Decimal("1.500"), None, Decimal("0.001")], pa.decimal128(10, 3)),
        "t": ["a b/ü=%20+:#?&", None, "x%2Fy"],
        "day": [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
        "ts": pa.array([_MOMENT.replace(tzinfo=dt.UTC), None, dt.datetime(1969, 12, 31, tzinfo=dt.UTC)]),
        "ntz": pa.array([_MOMENT, None, dt.datetime(1969, 12, 31)]),
    }
    write_deltalake(folder, pa.table({"id": [1, 2, 3], **values}), partition_by=list(values))


def _changed(folder: Path, **configuration: str) -> None:
    write_deltalake(folder, _rows(), partition_by=["day"], configuration=configuration)
    write_deltalake(folder, _rows(100, 5), mode="append")
    DeltaTable(folder).delete("id % 5 = 2")
    DeltaTable(folder).update(updates={"name": "'changed'"}, predicate="id < 3")
    source = _rows(15, 10).set_column(1, "name", pa.array(["merged"] * 10))
    merge = DeltaTable(folder).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _mapped(folder: Path) -> None:
    renamed = _rows().rename_columns(["id", "the name, please", "day"])
    configuration = {"delta.columnMapping.mode": "name"}
    write_deltalake(folder, renamed, partition_by=["day"], configuration=configuration)
    write_deltalake(folder, renamed, mode="append")


def _checkpointed(folder: Path, **configuration: str) -> None:
    for number in range(5):
        write_deltalake(folder, _rows(number * 10, 10), mode="append", configuration=configuration)
        if number in (1, 3):
            DeltaTable(folder).create_checkpoint()
    DeltaTable(folder).delete("id = 33")


def _evolved(folder: Path) -> None:
    write_deltalake(folder, _rows())
    more = pa.table({"id": [200], "later": ["new"], "deep": pa.array([{"a": 1}])})
    write_deltalake(folder, more, mode="append", schema_mode="merge")
    write_deltalake(folder, pa.table({"n": ["only"]}), mode="overwrite", schema_mode="overwrite")


def _maintained(folder: Path) -> None:
    for number in range(4):
        write_deltalake(folder, _rows(number * 20), mode="append", partition_by=["day"])
    DeltaTable(folder).optimize.compact()
    DeltaTable(folder).optimize.z_order(["id"])
    DeltaTable(folder).restore(1)
    write_deltalake(folder, _rows(7, 1), mode="overwrite", predicate="day = '2024-03-01'")


def _constrained(folder: Path) -> None:
    write_deltalake(folder, _rows())
    DeltaTable(folder).alter.add_constraint({"positive": "id >= 0"})
    write_deltalake(folder, _rows(50), mode="append")


MAKERS: dict[str, Callable[[Path], None]] = {
    "types": lambda folder: write_deltalake(folder, _types()),
    "partitioned_by_all": _partitioned_by_all,
    "changed": _changed,
    "with_a_feed": lambda folder: _changed(folder, **{"delta.enableChangeDataFeed": "true"}),
    "with_vectors_allowed": lambda folder: _changed(folder, **{"delta.enableDeletionVectors": "true"}),
    "mapped": _mapped,
    "checkpointed": _checkpointed,
    "checkpointed_v2": lambda folder: _checkpointed(folder, **{"delta.checkpointPolicy": "v2"}),
    "evolved": _evolved,
    "maintained": _maintained,
    "constrained": _constrained,
    "empty": lambda folder: write_deltalake(folder, _rows().slice(0, 0)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("deltalake")
    for name, make in MAKERS.items():
        make(root / name)
    return root


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("name", MAKERS)
def test_every_version_holds_the_same(session: LakeSession, lake: Path, name: str) -> None:
    for version in range(DeltaTable(lake / name).version() + 1):
        found = table(session, f"SELECT * FROM {name} VERSION AS OF {version}")
        assert comparable(found) == _theirs(lake / name, version, found.column_names), version
    assert comparable(table(session, f"SELECT * FROM {name}")) == comparable(found)


def _theirs(folder: Path, version: int, columns: list[str]) -> Rows:
    theirs = QueryBuilder().register("t", DeltaTable(folder, version=version)).execute("SELECT * FROM t")
    rows = pa.table(theirs.read_all())
    assert sorted(rows.column_names) == sorted(columns)
    return comparable(rows.select(columns))
