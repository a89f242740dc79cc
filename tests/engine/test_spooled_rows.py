"""Statements over rows that a client sends: types, enforcement, one commit, and executors in other processes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.accesses import StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest, with_changes
from engine.spark.session import SparkDriver
from engine.spool.spool import Spool
from engine.spool.spooled_rows import SpooledRows
from tests.engine.lake_sessions import rows, run, table_of, version_of
from tests.fix_spark import start_spark

pytestmark = pytest.mark.spark

_UTC = datetime.UTC
_VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "b": (pa.bool_(), [True, None]),
    "i8": (pa.int8(), [-128, None]),
    "i16": (pa.int16(), [1, None]),
    "i32": (pa.int32(), [2, None]),
    "i64": (pa.int64(), [1 << 60, None]),
    "f32": (pa.float32(), [0.5, None]),
    "f64": (pa.float64(), [float("inf"), None]),
    "d": (pa.decimal128(38, 3), [Decimal("1.234"), None]),
    "s": (pa.string(), ["ä", None]),
    "bin": (pa.binary(), [b"\0\xff", None]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), None]),
    "t": (pa.timestamp("us", "UTC"), [datetime.datetime(2026, 1, 2, 3, 4, 5, 6, _UTC), None]),
    "ntz": (pa.timestamp("us"), [datetime.datetime(2026, 1, 2, 3, 4, 5, 6), None]),
    "list": (pa.list_(pa.int64()), [[1, None, 3], None]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None]),
    "a`c": (pa.struct([("x`y", pa.string()), ("z", pa.list_(pa.date32()))]), [{"x`y": "1", "z": []}, None]),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def spooled(spool: Spool, table: pa.Table) -> SpooledRows:
    found = SpooledRows(spool, table.schema, "ann")
    for batch in table.to_batches(max_chunksize=100_000):
        found.add(batch)
    found.finish()
    return found


def execute(session: LakeSession, text: str, *given: SpooledRows, request: StatementRequest | None = None) -> pa.Table:
    request = request or StatementRequest(identity=Identity("ann"))
    result = session.execute(text, with_changes(request, spooled_rows=given))
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def values() -> pa.Table:
    return pa.table({name: pa.array(items, kind) for name, (kind, items) in _VALUES.items()})


@pytest.mark.parametrize("copies", [1, 20_000])
def test_values_of_all_types_are_written_as_they_were_sent(
    session: LakeSession, lake: Path, spool: Spool, copies: int
) -> None:
    sent = pa.concat_tables([values()] * copies)
    client_rows = spooled(spool, sent)
    execute(session, f"CREATE OR REPLACE TABLE all_types AS SELECT * FROM {client_rows.name}", client_rows)
    (count,) = rows(session, "SELECT count(*), count(i64), count(`a``c`) FROM all_types")
    assert count == (2 * copies, copies, copies)
    found = table_of(lake, "all_types").to_pylist()
    expected = {name: items[0] for name, (_, items) in _VALUES.items()}
    assert expected in found and dict.fromkeys(_VALUES) in found


def test_rows_in_several_files_become_one_commit(
    session: LakeSession, lake: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.spool.spooled_rows.FILE_BYTES", 1 << 20)
    run(session, "CREATE TABLE many (id BIGINT, name STRING)")
    before = version_of(lake, "many")
    ids = pa.array(range(600_000), pa.int64())
    client_rows = spooled(spool, pa.table({"name": ids.cast(pa.string()), "id": ids}))
    assert len(client_rows.files) > 3
    execute(session, f"INSERT INTO many BY NAME SELECT * FROM {client_rows.name}", client_rows)
    assert version_of(lake, "many") == before + 1
    assert rows(session, "SELECT count(*), sum(id), sum(CAST(name AS BIGINT)) FROM many") == [
        (600_000, 179_999_700_000, 179_999_700_000)
    ]


def test_rows_that_break_a_constraint_are_not_written(session: LakeSession, spool: Spool) -> None:
    run(session, "CREATE TABLE checked (id BIGINT NOT NULL, CONSTRAINT small CHECK (id < 500000))")
    client_rows = spooled(spool, pa.table({"id": range(500_001)}))
    with pytest.raises(SqlError) as caught:
        execute(session, f"INSERT INTO checked SELECT * FROM {client_rows.name}", client_rows)
    assert caught.value.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert rows(session, "SELECT count(*) FROM checked") == [(0,)]


def test_rows_without_any_row_are_read(session: LakeSession, spool: Spool) -> None:
    client_rows = spooled(spool, pa.table({"id": pa.array([], pa.int64())}))
    assert execute(session, f"SELECT count(*) AS n FROM {client_rows.name}", client_rows)["n"].to_pylist() == [0]


def test_rows_are_joined_and_read_twice(session: LakeSession, spool: Spool) -> None:
    client_rows = spooled(spool, pa.table({"id": range(50_000)}))
    text = f"SELECT count(*) AS n FROM {client_rows.name} AS a JOIN {client_rows.name} AS b USING (id)"
    assert execute(session, text, client_rows)["n"].to_pylist() == [50_000]


def test_only_the_text_of_the_statement_can_name_the_rows(session: LakeSession, spool: Spool) -> None:
    client_rows = spooled(spool, pa.table({"id": range(3)}))
    text = f"SELECT * FROM {client_rows.name}"
    with pytest.raises(SqlError) as caught:
        execute(session, text)
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(SqlError) as caught:
        execute(session, f"CREATE VIEW stored AS {text}", client_rows)
    assert caught.value.condition == "INVALID_TEMP_OBJ_REFERENCE"
    with pytest.raises(SqlError) as caught:
        execute(session, f"CREATE TEMPORARY VIEW held AS {text}", client_rows)
    assert caught.value.condition == "INVALID_TEMP_OBJ_REFERENCE"


def test_the_rows_are_no_object_in_the_audit_record(session: LakeSession, spool: Spool) -> None:
    run(session, "CREATE TABLE audited (id BIGINT)")
    client_rows = spooled(spool, pa.table({"id": range(3)}))
    seen: list[StatementAccess] = []
    request = StatementRequest(identity=Identity("ann"), on_authorized=seen.append)
    execute(session, f"INSERT INTO audited SELECT * FROM {client_rows.name}", client_rows, request=request)
    assert [one.name for access in seen for one in access.objects] == ["`spark_catalog`.`default`.`audited`"]


@pytest.mark.slow
def test_executors_in_other_processes_fetch_the_rows_from_the_driver(tmp_path: Path) -> None:
    driver = start_spark(local_dir=str(tmp_path), master="local-cluster[1,1,1024]")
    try:
        engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path / "lake"))), driver)
        session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        spool = Spool(tmp_path / "spool")
        for _ in range(2):
            client_rows = spooled(spool, pa.table({"id": range(100_000)}))
            found = execute(session, f"SELECT sum(id) AS n FROM {client_rows.name}", client_rows)
            assert found["n"].to_pylist() == [4_999_950_000]
            client_rows.close()
    finally:
        driver.stop()
