"""Column cache (`ColumnCache.java`): repeated reads come from memory with the files' values.

A query runs until its columns are cached, and once more. Its answer is compared with PyArrow, delta-rs, or rows
computed in Python; cached columns are detected by their heap usage.
"""

from __future__ import annotations

import datetime
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.jvm_statistics import read_jvm_statistics
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run
from tests.fix_spark import start_spark

pytestmark = pytest.mark.spark

# A filtered query is answered from cached columns after this many runs.
ROUNDS = 4
# More than two batches in Spark's reader.
ROWS = 9_000


def column_cache_bytes(driver: SparkDriver) -> int:
    return read_jvm_statistics(driver.process.driver.jvmStatistics()).column_cache_bytes


def run_query(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    """Returns a query's rows, equal in each run."""
    first = rows(session, text)
    for _ in range(ROUNDS - 1):
        assert repr(rows(session, text)) == repr(first)  # NaN is another thing than itself
    return first


def some(make: Callable[[int], Any], null_every: int) -> list[Any]:
    return [None if null_every and place % null_every == 1 else make(place) for place in range(ROWS)]


DAY = datetime.date(1969, 12, 20)
TIME = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)
UTC = datetime.UTC
TYPES: Mapping[str, tuple[pa.DataType, Callable[[int], Any]]] = MappingProxyType(
    {
        "bool": (pa.bool_(), lambda n: n % 3 == 0),
        "tiny": (pa.int8(), lambda n: n % 256 - 128),
        "small": (pa.int16(), lambda n: n * 7 - 32_000),
        "int": (pa.int32(), lambda n: n * 477_000 - 2_147_000_000),
        "few": (pa.int32(), lambda n: n % 3),
        "long": (pa.int64(), lambda n: n * 1_000_000_007 - (1 << 62)),
        "float": (pa.float32(), lambda n: (math.nan, -0.0, math.inf, n / 4)[n % 4]),
        "double": (pa.float64(), lambda n: (math.nan, -math.inf, n / 3)[n % 3]),
        "date": (pa.date32(), lambda n: DAY + datetime.timedelta(days=n)),
        "time": (pa.timestamp("us", tz="UTC"), lambda n: TIME.replace(tzinfo=UTC) + datetime.timedelta(hours=n)),
        "local": (pa.timestamp("us"), lambda n: TIME + datetime.timedelta(milliseconds=n)),
        "decimal9": (pa.decimal128(9, 2), lambda n: Decimal(n - 4000) / 100),
        "decimal18": (pa.decimal128(18, 4), lambda n: Decimal(n * 99_999_999_999 - 10**13) / 10_000),
        "texts": (pa.string(), lambda n: ("", "ä€😀", "x" * (n % 40))[n % 3]),
        "unlike": (pa.string(), lambda n: f"text {n * 7919}"),
    }
)
UNCACHED: Mapping[str, tuple[pa.DataType, Callable[[int], Any]]] = MappingProxyType(
    {
        "decimal38": (pa.decimal128(38, 10), lambda n: Decimal(n) * 10**20 / 3),
        "bytes": (pa.binary(), lambda n: bytes([n % 256, 0, 255])),
        "list": (pa.list_(pa.int32()), lambda n: [n, None, n + 1]),
        "struct": (pa.struct([("a", pa.int32()), ("b", pa.string())]), lambda n: {"a": n, "b": str(n)}),
    }
)
WRITERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "dictionaries": {},
        "plain": {"use_dictionary": False, "compression": "none"},
        "small pages": {"data_page_version": "2.0", "data_page_size": 500, "compression": "zstd"},
        "row groups": {"row_group_size": 2_500},
        "dictionaries that are given up": {"dictionary_pagesize_limit": 3_000, "write_batch_size": 100},
        "page index": {"write_page_index": True, "data_page_size": 2_000},
    }
)


def made(nulls: int) -> pa.Table:
    columns = {name: pa.array(some(make, nulls), kind) for name, (kind, make) in {**TYPES, **UNCACHED}.items()}
    columns["id"] = pa.array(range(ROWS), pa.int64())
    columns["none"] = pa.nulls(ROWS, pa.string())
    return pa.table(columns)


@pytest.fixture(scope="module")
def written(engine: LakeEngine, lake: Path) -> Mapping[str, tuple[str, pa.Table]]:
    """Returns, by writer, the name of a table whose only file it wrote, and the rows."""
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    found = {}
    for number, (writer, options) in enumerate(WRITERS.items()):
        table, folder = made(nulls=(0, 2, 5)[number % 3]), lake / "default" / f"written_{number}"
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "file.parquet", **options)
        run(session, f"CONVERT TO DELTA parquet.`{folder}`")
        found[writer] = (folder.name, table)
    session.close()
    return MappingProxyType(found)


@pytest.fixture(scope="module")
def python_rows(written: Mapping[str, tuple[str, pa.Table]]) -> Mapping[str, list[dict[str, Any]]]:
    """Returns each table's rows, by its name; converting them takes longer than most queries."""
    names = ["id", "unlike", "none", "few", "texts", "bool", "decimal9", "date", "tiny"]
    return MappingProxyType({name: table.select(names).to_pylist() for name, table in written.values()})


def truth(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("name", [*TYPES, "none"])
def test_cached_column_values_match_file(
    session: LakeSession, spark_driver: SparkDriver, written: Mapping[str, tuple[str, pa.Table]], name: str
) -> None:
    for table, expected in written.values():
        before = column_cache_bytes(spark_driver)
        run_query(session, f"SELECT max(hash({name}, id)) FROM {table}")
        assert column_cache_bytes(spark_driver) > before
        assert repr(rows(session, f"SELECT {name}, id FROM {table} ORDER BY id")) == repr(truth(expected, name, "id"))


@pytest.mark.parametrize("name", UNCACHED)
def test_columns_of_unsupported_types_are_not_cached(
    session: LakeSession, spark_driver: SparkDriver, written: Mapping[str, tuple[str, pa.Table]], name: str
) -> None:
    table, expected = written["plain"]
    before = column_cache_bytes(spark_driver)
    run_query(session, f"SELECT max(hash({name}, id)) FROM {table}")
    assert rows(session, f"SELECT {name}, id FROM {table} ORDER BY id") == truth(expected, name, "id")
    assert column_cache_bytes(spark_driver) == before


CONDITIONS = (
    # on columns in any table, and the same in Python
    ("few = 1", lambda row: row["few"] == 1),
    ("unlike = 'text 7919'", lambda row: row["unlike"] == "text 7919"),
    ("texts LIKE 'ä%'", lambda row: row["texts"] is not None and row["texts"].startswith("ä")),
    ("texts IS NULL", lambda row: row["texts"] is None),
    ("none IS NULL AND bool", lambda row: row["bool"] is True),
    ("id BETWEEN 4090 AND 4100", lambda row: 4090 <= row["id"] <= 4100),
    ("decimal9 < -39.5", lambda row: row["decimal9"] is not None and row["decimal9"] < Decimal("-39.5")),
    ("date = DATE'1970-01-01'", lambda row: row["date"] == datetime.date(1970, 1, 1)),
    ("tiny IN (5, -128, 99)", lambda row: row["tiny"] in (5, -128, 99)),
)


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_conditions_filter_cached_columns(
    session: LakeSession,
    python_rows: Mapping[str, list[dict[str, Any]]],
    condition: str,
    holds: Callable[[dict[str, Any]], bool],
) -> None:
    for table, expected in python_rows.items():
        found = run_query(session, f"SELECT id, unlike, few FROM {table} WHERE {condition} ORDER BY id")
        assert found == [(row["id"], row["unlike"], row["few"]) for row in expected if holds(row)]
        count = run_query(session, f"SELECT count(*), sum(few), max(unlike) FROM {table} WHERE {condition}")
        known = [few for *_, few in found if few is not None]
        assert count[0][:2] == (len(found), sum(known) if known else None)


def test_a_limit_keeps_whole_columns(session: LakeSession, spark_driver: SparkDriver) -> None:
    run(session, f"CREATE TABLE limited AS SELECT id, id % 3 AS few, id / 2 AS half FROM range({ROWS})")
    before = column_cache_bytes(spark_driver)
    for _ in range(ROUNDS):
        assert len(rows(session, "SELECT half, few FROM limited WHERE few = 2 LIMIT 5")) == 5
    assert column_cache_bytes(spark_driver) - before > ROWS * (8 + 8)


def test_query_with_limit_leaves_column_cache_valid(session: LakeSession) -> None:
    """Spark closes the batch that a task has at hand when it ends."""
    run(session, f"CREATE TABLE ended AS SELECT /*+ COALESCE(1) */ id, 's' || id % 3 AS s FROM range({ROWS})")
    for condition in ("s = 's1'", "_metadata.row_index % 3 = 1", "id % 3 = 1 AND length(_metadata.file_path) > 0"):
        for limit in (5, 1500, 2500, 2999):
            text = f"SELECT count(*), count(s) FROM (SELECT id, s FROM ended WHERE {condition} LIMIT {limit})"
            for _ in range(2):
                assert run_query(session, text) == [(limit, limit)]
            whole = "SELECT count(*), min(s), max(id), sum(length(s)) FROM ended WHERE "
            assert run_query(session, whole + condition) == [(3000, "s1", ROWS - 2, 6000)]


def test_readers_of_rows_get_rows(session: LakeSession) -> None:
    run(session, "CREATE TABLE by_rows AS SELECT id, 's' || id % 3 AS s FROM range(50)")
    text = "SELECT s, count(*), sum(id) FROM by_rows WHERE id > 1 GROUP BY s ORDER BY s"
    expected = run_query(session, text)
    run(session, "SET spark.sql.codegen.wholeStage = false")
    assert run_query(session, text) == expected
    run(session, "RESET spark.sql.codegen.wholeStage")


REALS: tuple[tuple[str, set[int]], ...] = (
    # NaN is larger than all others and equals itself, and -0 equals 0; expected indexes in `reals`
    ("r = double('NaN')", {0}),
    ("r <=> double('NaN')", {0}),
    ("r IN (double('NaN'), 7)", {0}),
    ("r > 1.5D", {0}),
    ("r >= 1.75D", {0}),
    ("r <> 1.5D", {0, 2, 3}),
    ("NOT r < 1.75D", {0}),
    ("NOT (r <= 1.5D)", {0}),
    ("r <= double('NaN')", {0, 1, 2, 3, 5}),
    ("r = 0D", {2, 3}),
    ("r <=> 0D", {2, 3}),
    ("r IN (0D, 9D)", {2, 3}),
    ("r >= 0D", {0, 1, 2, 3, 5}),
    ("r < 0D", set()),
    ("r = 1.5D", {1, 5}),
    ("r < 1.5D", {2, 3}),
    ("r IS NULL", {4}),
    ("NOT (r IS NULL)", {0, 1, 2, 3, 5}),
    ("r = 7D OR r = double('NaN')", {0}),
    ("n.r > 1.5D", {0}),
    ("f > 1.5F", {0}),
)


def test_reals_that_parquet_compares_otherwise(session: LakeSession, lake: Path) -> None:
    """Row groups with two values each, with dictionaries and with minimum and maximum values, which never include
    NaN.
    """
    reals = pa.array([math.nan, 1.5, -0.0, -0.0, None, 1.5], pa.float64())
    nested = pa.StructArray.from_arrays([reals], ["r"])
    table = pa.table({"id": range(6), "r": reals, "f": reals.cast(pa.float32()), "n": nested})
    folder = lake / "default" / "reals"
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "file.parquet", row_group_size=2, write_page_index=True)
    run(session, f"CONVERT TO DELTA parquet.`{folder}` NO STATISTICS")
    for condition, expected in REALS:
        assert {id for (id,) in run_query(session, f"SELECT id FROM reals WHERE {condition}")} == expected, condition


CHANGES = (
    "DELETE FROM changed WHERE id % 10 = 3",
    "UPDATE changed SET s = concat(s, '!'), k = k + 1 WHERE id % 7 = 0",
    "MERGE INTO changed USING (SELECT id * 5 AS id FROM range(120)) AS new ON changed.id = new.id"
    " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, k, s, p) VALUES (new.id, -1, 'new', 'a')",
    "INSERT INTO changed (id, k, s, p) SELECT id, 1, 'more', 'b' FROM range(1000, 1010)",
    "DELETE FROM changed WHERE p = 'b' AND id > 400",
    "RESTORE TABLE changed TO VERSION AS OF 2",
    "ALTER TABLE changed RENAME COLUMN s TO t; ALTER TABLE changed ADD COLUMN s STRING",
    "INSERT INTO changed (id, k, s, p) VALUES (-5, 5, 'again', 'a')",
    "ALTER TABLE changed ALTER COLUMN k TYPE BIGINT",
    "INSERT INTO changed (id, k, s, p) VALUES (-6, 1099511627776, 'long', 'b')",
    "ALTER TABLE changed DROP COLUMN t",
    "OPTIMIZE changed",
)
QUERIES = (
    "SELECT *, _metadata.row_index, _metadata.file_name FROM changed ORDER BY id",
    "SELECT p, k, count(*), min(id) FROM changed WHERE id > 3 GROUP BY p, k ORDER BY p, k",
    "SELECT id, p FROM changed WHERE s LIKE 's1%' ORDER BY id",
    "SELECT id, s FROM changed WHERE p = 'b' AND k < 3 ORDER BY id",
)
FORMATS = (
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name',"
    " 'delta.enableTypeWidening' = 'true', 'delta.enableRowTracking' = 'true')",
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'id', 'delta.enableTypeWidening' = 'true')",
)


def apart(engine: LakeEngine, zones: Iterator[int], text: str) -> list[tuple[Any, ...]]:
    """Returns the rows read by a session with nothing cached, through a unique time zone."""
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    try:
        zone = next(zones)
        run(session, f"SET TIME ZONE '+{zone // 60:02}:{zone % 60:02}'")
        return rows(session, text)
    finally:
        session.close()


@pytest.mark.parametrize("properties", FORMATS, ids=["vectors and names", "ids"])
def test_changed_tables_are_read_as_they_are(engine: LakeEngine, session: LakeSession, properties: str) -> None:
    zones = iter(range(1, 900))
    run(session, f"CREATE TABLE changed (id BIGINT, k INT, s STRING, p STRING) PARTITIONED BY (p) {properties}")
    filled = "SELECT id, CAST(id % 9 AS INT), 's' || id % 11, if(id % 2 = 0, 'a', 'b') FROM range(500)"
    try:
        for change in (f"INSERT INTO changed {filled}", *CHANGES):
            for statement in change.split("; "):
                run(session, statement)
            for text in QUERIES:
                assert run_query(session, text) == apart(engine, zones, text), (change, text)
    finally:
        run(session, "DROP TABLE changed")


def test_rows_of_a_changed_iceberg_table(engine: LakeEngine, session: LakeSession) -> None:
    zones = iter(range(1, 900))
    run(
        session,
        "CREATE TABLE ice (id BIGINT, s STRING) USING iceberg TBLPROPERTIES"
        " ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')",
    )
    for change in (
        "INSERT INTO ice SELECT id, 's' || id % 4 FROM range(300)",
        "DELETE FROM ice WHERE id % 3 = 0",
        "UPDATE ice SET s = 'other' WHERE id % 5 = 1",
        "ALTER TABLE ice RENAME COLUMN s TO t; ALTER TABLE ice ADD COLUMN s INT",
    ):
        for statement in change.split("; "):
            run(session, statement)
        for text in ("SELECT * FROM ice ORDER BY id", "SELECT s, count(*), sum(id) FROM ice GROUP BY s ORDER BY s"):
            assert run_query(session, text) == apart(engine, zones, text), (change, text)


def test_a_file_that_another_one_took_the_place_of(session: LakeSession, lake: Path) -> None:
    """No writer may do so; the rows read are nevertheless the current ones."""
    folder = lake / "default" / "replaced"
    write_deltalake(folder, pa.table({"a": [1, 2, 3]}))
    (path,) = folder.glob("*.parquet")
    text = "SELECT a + 0 FROM replaced ORDER BY a"
    assert run_query(session, text) == [(1,), (2,), (3,)]
    pq.write_table(pa.table({"a": [3, 4, 5]}), path)
    assert run_query(session, text) == [(3,), (4,), (5,)]
    os.remove(path)
    with pytest.raises(SqlError) as caught:
        rows(session, text)
    assert path.name in str(caught.value)


def test_damage_outside_requested_columns_is_ignored(session: LakeSession, lake: Path) -> None:
    folder = lake / "default" / "damaged"
    folder.mkdir(parents=True)
    path = folder / "file.parquet"
    pq.write_table(pa.table({"a": range(20_000)}), path, row_group_size=10_000, use_dictionary=False)
    run(session, f"CONVERT TO DELTA parquet.`{folder}`")
    group = pq.read_metadata(path).row_group(1).column(0)
    with open(path, "rb+") as file:
        file.seek(group.data_page_offset)
        file.write(bytes(group.total_compressed_size))
    for _ in range(ROUNDS + 1):
        assert len(rows(session, "SELECT a + 1 FROM damaged WHERE a >= 0 LIMIT 5")) == 5
        with pytest.raises(SqlError) as caught:
            rows(session, "SELECT sum(a % 7) FROM damaged")
        assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"


def test_sessions_that_ask_at_the_same_time(engine: LakeEngine, written: Mapping[str, tuple[str, pa.Table]]) -> None:
    texts = [
        (f"SELECT {', '.join(names)} FROM {table} WHERE id % 2 = {half} ORDER BY id", table, names, half)
        for table, _ in written.values()
        for names in (("id", "texts", "long"), ("id", "long"), ("id", "texts", "date", "double"))
        for half in (0, 1)
    ]
    expected = dict(written.values())

    def ask(seed: int) -> None:
        session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        shuffled = random.Random(seed).sample(texts, len(texts))
        for text, table, names, half in shuffled:
            wanted = [row for place, row in enumerate(truth(expected[table], *names)) if place % 2 == half]
            assert repr(rows(session, text)) == repr(wanted)
        session.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))


HEAP = "512m"
# Percent of the heap: 5 MB, and a quarter for one file.
PERCENT = 1


@pytest.fixture(scope="module")
def small(lake: Path) -> Iterator[tuple[LakeSession, SparkDriver]]:
    driver = start_spark(driver_memory=HEAP, column_cache_percent=PERCENT)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield session, driver
    session.close()
    driver.stop()


@pytest.mark.slow
def test_column_cache_respects_limit(small: tuple[LakeSession, SparkDriver], lake: Path) -> None:
    session, driver = small
    limit_bytes = 512 * 2**20 * PERCENT // 100
    for number in range(12):  # each 0.9 MB, decoded
        table = pa.table({"a": pa.array(range(number, number + 100_000), pa.int64())})
        write_deltalake(lake / "default" / f"one_{number}", table)
    write_deltalake(lake / "default" / "large", pa.table({"a": pa.array(range(200_000), pa.int64())}))
    sums = {f"one_{number}": sum(range(number, number + 100_000)) for number in range(12)} | {
        "large": sum(range(200_000))
    }
    for name in ("one_0", "one_1", "one_2"):
        run_query(session, f"SELECT sum(a) FROM {name}")
    hot = column_cache_bytes(driver)
    assert 2.5e6 < hot <= limit_bytes
    for _ in range(3):
        for name, expected in sums.items():
            assert rows(session, f"SELECT sum(a) FROM {name}") == [(expected,)]
            assert column_cache_bytes(driver) <= limit_bytes


@pytest.mark.slow
def test_column_cache_without_space_stays_empty(lake: Path) -> None:
    driver = start_spark(driver_memory=HEAP, column_cache_percent=0)
    try:
        engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), driver)
        session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        write_deltalake(lake / "default" / "unkept", pa.table({"a": [1, 2, 3]}))
        assert run_query(session, "SELECT sum(a) FROM unkept WHERE a > 1") == [(5,)]
        assert column_cache_bytes(driver) == 0
    finally:
        driver.stop()


@pytest.mark.slow
def test_column_cache_yields_memory_to_statements(lake: Path) -> None:
    """The cache, a statement's memory and the heap's reserve together exceed the heap."""
    driver = start_spark(driver_memory=HEAP, column_cache_percent=40)
    try:
        engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), driver)
        session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        numbers = pa.table({"a": pa.array(range(5_000_000), pa.int64())})
        for number in range(4):
            write_deltalake(lake / "default" / f"full_{number}", numbers)
            assert run_query(session, f"SELECT sum(a) FROM full_{number}") == [(12_499_997_500_000,)]
        assert column_cache_bytes(driver) > 120e6
        text = "SELECT length(array_join(collect_list(repeat('x', 1000)), '')) FROM range(0, 70000, 1, 1)"
        assert rows(session, text) == [(70_000_000,)]
        assert column_cache_bytes(driver) < 120e6
        assert rows(session, "SELECT sum(a) FROM full_0") == [(12_499_997_500_000,)]
    finally:
        driver.stop()
