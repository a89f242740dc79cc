"""Results cross with Spark's types: Arrow values, SQL spellings, order, and limits."""

from __future__ import annotations

import base64
import datetime as dt
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import ResultTooLarge, SpoolFull, SpoolFullOfOwner, StatementCancelled
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import sql_type_of
from engine.spark.session import ExecSession, SparkDriver
from engine.spool.budget import SpoolBudget
from engine.spool.spool import Spool
from engine.spool.spool_file import StoredBatch, load_batch
from tests.engine.spark.scans import DataFile, query, rows, write_scan
from tests.gateway.http.conftest import eventually

pytestmark = pytest.mark.spark

UTC = dt.UTC
TYPES: tuple[tuple[str, str, pa.DataType, Any], ...] = (
    ("true", "boolean", pa.bool_(), True),
    ("1Y", "tinyint", pa.int8(), 1),
    ("1S", "smallint", pa.int16(), 1),
    ("1", "int", pa.int32(), 1),
    ("1L", "bigint", pa.int64(), 1),
    ("1.5F", "float", pa.float32(), 1.5),
    ("1.5D", "double", pa.float64(), 1.5),
    ("1.50", "decimal(3,2)", pa.decimal128(3, 2), Decimal("1.50")),
    ("CAST(1 AS DECIMAL(38,0))", "decimal(38,0)", pa.decimal128(38, 0), Decimal(1)),
    ("'é'", "string", pa.string(), "é"),
    ("CAST('ab' AS CHAR(3))", "string", pa.string(), "ab"),
    ("'a' COLLATE UTF8_LCASE", "string collate UTF8_LCASE", pa.string(), "a"),
    ("X'00FF'", "binary", pa.binary(), b"\x00\xff"),
    ("DATE '0001-01-01'", "date", pa.date32(), dt.date(1, 1, 1)),
    (
        "TIMESTAMP '2024-05-01 10:00:00.123456Z'",
        "timestamp",
        pa.timestamp("us", "UTC"),
        dt.datetime(2024, 5, 1, 10, 0, 0, 123456, UTC),
    ),
    (
        "TIMESTAMP_NTZ '2024-05-01 10:00:00'",
        "timestamp_ntz",
        pa.timestamp("us"),
        dt.datetime(2024, 5, 1, 10),
    ),
    ("NULL", "void", pa.null(), None),
    ("INTERVAL '1-2' YEAR TO MONTH", "interval year to month", pa.string(), "1-2"),
    ("INTERVAL '-3' MONTH", "interval month", pa.string(), "-0-3"),
    ("INTERVAL '1 02:03:04' DAY TO SECOND", "interval day to second", pa.duration("us"), dt.timedelta(1, 7384)),
    ("make_interval(1, 2)", "interval", pa.string(), "1 years 2 months"),
    ('parse_json(\'{"b": [1, null], "a": "x"}\')', "variant", pa.string(), '{"a":"x","b":[1,null]}'),
    ("array(1, NULL)", "array<int>", pa.list_(pa.field("element", pa.int32())), [1, None]),
    ("map('k', 1)", "map<string,int>", pa.map_(pa.string(), pa.int32()), [("k", 1)]),
    (
        "named_struct('a', 1, 'b', array('x'))",
        "struct<a:int,b:array<string>>",
        pa.struct({"a": pa.int32(), "b": pa.list_(pa.field("element", pa.string()))}),
        {"a": 1, "b": ["x"]},
    ),
    (
        "map(INTERVAL 1 MONTH, array(named_struct('v', parse_json('1'), 'n', NULL), NULL))",
        "map<interval month,array<struct<v:variant,n:void>>>",
        pa.map_(
            pa.string(),
            pa.list_(pa.field("element", pa.struct([pa.field("v", pa.string()), pa.field("n", pa.null())]))),
        ),
        [("0-1", [{"v": "1", "n": None}, None])],
    ),
)


@pytest.mark.parametrize(("expression", "sql_type", "arrow_type", "value"), TYPES, ids=[row[0] for row in TYPES])
def test_types(spark: ExecSession, expression: str, sql_type: str, arrow_type: pa.DataType, value: Any) -> None:
    table = query(spark, f"SELECT {expression} AS x")
    assert (sql_type_of(table.schema.field(0)), table.schema.field(0).type) == (sql_type, arrow_type)
    assert table.column(0).to_pylist() == [value]


@pytest.mark.parametrize(("expression", "sql_type", "arrow_type", "value"), TYPES, ids=[row[0] for row in TYPES])
def test_types_from_a_job(
    spark: ExecSession, expression: str, sql_type: str, arrow_type: pa.DataType, value: Any
) -> None:
    """The same values when executors create the batches, with an additional null."""
    table = query(spark, f"SELECT IF(id = 0, {expression}, NULL) AS x FROM range(0, 2, 1, 2)")
    assert sql_type_of(table.schema.field(0)) == sql_type
    assert table.column(0).to_pylist() == [value, None]


@pytest.mark.parametrize("more", ["", ", INTERVAL 1 MONTH AS m"], ids=["as Spark has them", "converted"])
def test_numbers_and_texts_of_all_lengths_over_several_batches(spark: ExecSession, more: str) -> None:
    numbers = sorted({sign * (10**digits - low) for digits in range(39) for low in (0, 1) for sign in (1, -1)})
    numbers += [sign * 2**bits - low for bits in range(7, 127, 8) for low in (0, 1) for sign in (1, -1)]
    texts = [str(number) for number in numbers]
    kinds = ("(1,0)", "(9,0)", "(18,0)", "(19,0)", "(38,0)", "(18,18)", "(38,38)")
    casts = ", ".join(f"try_cast(text AS DECIMAL{kind}) AS `{kind}`" for kind in kinds)
    table = query(
        spark,
        f"SELECT text, repeat('é', length(text) % 5) AS e, {casts}{more} FROM range(0, 250, 1, 1), "
        f"(SELECT explode(array({str(texts)[1:-1]})) AS text)",
    )
    assert table.column("text").to_pylist() == texts * 250
    assert table.column("e").to_pylist() == ["é" * (len(text) % 5) for text in texts] * 250
    for kind in kinds:
        precision, scale = map(int, kind[1:-1].split(","))
        fits = [Decimal(text) if abs(int(text)) < 10 ** (precision - scale) else None for text in texts]
        assert table.column(kind).to_pylist() == fits * 250, kind


def test_char_and_varchar_keep_their_declared_type(spark: ExecSession, tmp_path: Path) -> None:
    declared = {"type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}}
    scan = write_scan(tmp_path, {"v": declared}, [DataFile(path="a.parquet", columns={"v": ["ab"]})])
    table = query(spark, "SELECT v, v AS w, upper(v) FROM __scan_0", scan)
    assert [sql_type_of(field) for field in table.schema] == ["varchar(5)", "varchar(5)", "string"]


def test_keeps_names_that_occur_twice(spark: ExecSession) -> None:
    table = query(spark, "SELECT 1 AS a, 'x' AS a, named_struct('b', 1, 'b', 2) AS c")
    assert table.schema.names == ["a", "a", "c"]
    assert [column.to_pylist() for column in table.columns[:2]] == [[1], ["x"]]


@pytest.mark.parametrize("text", ["SELECT 1 AS a WHERE false", "SELECT id AS a FROM range(5) WHERE id > 9"])
def test_no_rows_still_have_a_schema(spark: ExecSession, text: str) -> None:
    table = query(spark, text)
    assert (table.num_rows, table.schema.names) == (0, ["a"])


@pytest.mark.parametrize("count", [1, 1_000, 100_000, 400_000])
def test_rows_come_in_the_order_of_the_partitions(spark: ExecSession, count: int) -> None:
    """Sizes below, about and above the in-memory limit; many partitions, so that tasks end out of order."""
    table = query(spark, f"SELECT id, repeat('x', 10) AS s FROM range(0, {count}, 1, 7)")
    assert table.column("id").to_pylist() == list(range(count))


def test_limit_and_sort_come_back_in_order(spark: ExecSession) -> None:
    assert rows(spark, "SELECT id FROM range(0, 1000, 1, 8) LIMIT 3") == [(0,), (1,), (2,)]
    assert rows(spark, "SELECT id FROM range(0, 1000, 1, 8) ORDER BY id DESC LIMIT 2") == [(999,), (998,)]
    assert len(rows(spark, "SELECT id FROM range(0, 300000, 1, 8) LIMIT 200000")) == 200_000


def test_time_zone_is_the_sessions(spark: ExecSession) -> None:
    spark.set_setting("spark.sql.session.timeZone", "Europe/Berlin")
    result = spark.run_query(ReadPlan(text="SELECT 1", scans=()), StatementRequest(identity=Identity("alice")))
    assert result.time_zone == "Europe/Berlin"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT repeat('x', 100) FROM range(0, 100000, 1, 4)",
        "SELECT repeat('x', 2000000)",
        "SELECT repeat('x', 100) FROM range(100000) LIMIT 50000",
    ],
    ids=["job", "local", "limit"],
)
def test_refuses_results_over_the_limit(spark: ExecSession, spark_driver: SparkDriver, text: str) -> None:
    request = StatementRequest(identity=Identity("alice"), result_bytes_max=1_000_000)
    with pytest.raises(ResultTooLarge) as refused:
        query(spark, text, request=request)
    assert refused.value.bytes_max == 1_000_000
    assert not list(spark_driver.spool_dir.iterdir())


def test_batches_of_long_rows_have_few_of_them(spark: ExecSession) -> None:
    plan = ReadPlan(text="SELECT id, repeat('x', 100000) AS s FROM range(0, 300, 1, 1)", scans=())
    batches = list(spark.run_query(plan, StatementRequest(identity=Identity("alice"))).batches())
    assert [id for batch in batches for id in batch.column("id").to_pylist()] == list(range(300))
    assert max(batch.nbytes for batch in batches) < 5 << 20


@pytest.mark.parametrize(("total", "own", "error"), [(2 << 20, None, SpoolFull), (1 << 30, 2 << 20, SpoolFullOfOwner)])
@pytest.mark.parametrize("rows_made", [200_000, 15_000], ids=["while it runs", "when it is kept"])
def test_a_result_that_does_not_fit_beside_others_is_refused(
    spark: ExecSession, tmp_path: Path, total: int, own: int | None, error: type[SqlError], rows_made: int
) -> None:
    spool = Spool(tmp_path, SpoolBudget(total, own, setting="results.disk_bytes_max"))
    request = StatementRequest(identity=Identity("alice"), spool=spool)
    text = "SELECT repeat('x', 100) AS s FROM range(0, {}, 1, 2)"
    held = list(spark.run_query(ReadPlan(text=text.format(12_000), scans=()), request).pieces())
    assert 1 << 20 < spool.held_bytes() < 2 << 20 and all(isinstance(piece, StoredBatch) for piece in held)
    with pytest.raises(error):
        query(spark, text.format(rows_made), request=request)
    assert query(spark, "SELECT 1 AS n", request=request).to_pylist() == [{"n": 1}]
    assert [load_batch(piece).num_rows for piece in reversed(held)] == [piece.num_rows for piece in reversed(held)]
    held.clear()
    assert spool.held_bytes() == 0 and not list(tmp_path.iterdir())


def test_files_of_a_large_result_are_gone_when_it_is_answered(spark: ExecSession, spark_driver: SparkDriver) -> None:
    plan = ReadPlan(text="SELECT repeat('x', 100) AS s FROM range(0, 20000, 1, 3)", scans=())
    result = spark.run_query(plan, StatementRequest(identity=Identity("alice")))
    assert not list(spark_driver.spool_dir.iterdir())
    batches = result.batches()
    first = next(batches)
    result.close()
    assert first.column(0)[0].as_py() == "x" * 100
    with pytest.raises(StatementCancelled):
        list(batches)


@pytest.mark.parametrize(
    ("rows_made", "wanted", "partitions"),
    [(400_000, 10, 50), (400_000, 150_000, 7), (1_000, 5_000, 3), (30_000, 29_999, 1)],
)
def test_unread_rows_are_not_produced(
    spark: ExecSession, spark_driver: SparkDriver, rows_made: int, wanted: int, partitions: int
) -> None:
    text = f"SELECT id, repeat('x', 40) AS s FROM range(0, {rows_made}, 1, {partitions})"
    request = StatementRequest(identity=Identity("alice"), rows_wanted=wanted)
    result = spark.stream_query(ReadPlan(text=text, scans=()), request)
    ids = [id for batch in result.batches() for id in batch.column("id").to_pylist()]
    assert ids == list(range(len(ids))) and min(wanted, rows_made) <= len(ids)
    assert wanted > rows_made or len(ids) < wanted + max(wanted, rows_made // partitions)
    assert not list(spark_driver.spool_dir.iterdir())


def test_failure_after_the_requested_rows_is_not_reached(spark: ExecSession) -> None:
    text = "SELECT id, IF(id > 900000, raise_error('late'), repeat('x', 10)) AS s FROM range(0, 1000000, 1, 100)"
    wishes: tuple[dict[str, Any], ...] = ({"rows_wanted": 1000}, {"bytes_wanted": 1000}, {"bytes_wanted": 1 << 20})
    for wanted in wishes:
        request = StatementRequest(identity=Identity("alice"), **wanted)
        result = spark.stream_query(ReadPlan(text=text, scans=()), request)
        table = pa.Table.from_batches(result.batches(), result.schema)
        assert table.column("id").to_pylist() == list(range(table.num_rows))
        assert table.num_rows >= 1000 if "rows_wanted" in wanted else table.nbytes > wanted["bytes_wanted"]
    with pytest.raises(SqlError, match="late"):
        query(spark, text)


def test_rows_of_a_small_limit_count_on_the_disk(spark: ExecSession, tmp_path: Path) -> None:
    """They are collected before they are written."""
    spool = Spool(tmp_path, SpoolBudget(2 << 20, setting="results.disk_bytes_max"))
    written: list[int] = []
    take = SpoolBudget.take_some

    def noted(budget: SpoolBudget, owner: str, wanted: int, needed: int) -> int:
        written.append(needed)
        return take(budget, owner, wanted, needed)

    plan = ReadPlan(text="SELECT repeat('x', 50000) AS s FROM range(0, 1000, 1, 2) LIMIT 400", scans=())
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SpoolFull):
        patch.setattr(SpoolBudget, "take_some", noted)
        spark.run_query(plan, StatementRequest(identity=Identity("alice"), spool=spool))
    assert written and max(written) < 8 << 20, "asked while the rows are written, not when all are"


@pytest.mark.parametrize(
    "columns",
    [
        "id",
        "id % 2 = 0 AS b",
        "CAST(id AS INT) AS i",
        "IF(id % 3 = 0, NULL, id) AS n, '' AS s, CAST(id AS DECIMAL(30,2)) AS d, X'01' AS x",
        "array(id, 1) AS l, struct(id, array('x', NULL)) AS t, map('k', id % 2 = 0) AS m",
    ],
)
def test_byte_limited_result_reports_truncation(spark: ExecSession, columns: str) -> None:
    """Java's byte count drops rows, and pyarrow's detects it: three of ten parts have that many."""
    rows_made = 20_010
    plan = ReadPlan(text=f"SELECT {columns} FROM range(0, {rows_made}, 1, 10)", scans=())
    whole = spark.stream_query(plan, StatementRequest(identity=Identity("alice"), result_bytes_max=1 << 30))
    wanted = sum(batch.nbytes for batch in list(whole.batches())[:3])
    request = StatementRequest(identity=Identity("alice"), bytes_wanted=wanted)
    batches = list(spark.stream_query(plan, request).batches())
    assert sum(batch.num_rows for batch in batches) < rows_made
    assert sum(batch.nbytes for batch in batches) > wanted


def test_rows_count_on_the_disk_while_they_are_written(spark: ExecSession, tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolBudget(64 << 20, setting="results.disk_bytes_max"))
    endless = ReadPlan(text="SELECT repeat('x', 1000) AS s FROM range(0, 100000000, 1, 2)", scans=())
    refused: list[SqlError] = []

    def run() -> None:
        try:
            spark.run_query(
                endless, StatementRequest(identity=Identity("alice"), spool=spool, result_bytes_max=1 << 40)
            )
        except SqlError as error:
            refused.append(error)

    running = threading.Thread(target=run)
    running.start()
    assert eventually(lambda: spool.held_bytes() > 16 << 20) and not refused
    running.join(60)
    assert [type(error) for error in refused] == [SpoolFull] and spool.held_bytes() == 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(NULL AS MAP<INT, ARRAY<STRING>>)",
        "SELECT CAST(NULL AS ARRAY<MAP<STRING, MAP<INT, INT>>>), CAST(array() AS ARRAY<ARRAY<BINARY>>)",
        "SELECT array_repeat(CAST(NULL AS MAP<STRING, INT>), 0), collect_list(CAST(NULL AS ARRAY<INT>)) FROM range(3)",
        "SELECT CAST(NULL AS ARRAY<MAP<STRING, INT>>) FROM range(30000)",
    ],
)
def test_empty_lists_have_their_first_offset(spark: ExecSession, text: str) -> None:
    """C++ readers always read the offsets, including clients' readers."""
    for batch in query(spark, text).to_batches():
        for column in batch.columns:
            assert 0 not in offset_sizes(column)


def offset_sizes(values: Any) -> list[int]:
    """Returns the size of the offsets in bytes for all lists in an array."""
    if pa.types.is_struct(values.type):
        return [size for at in range(values.type.num_fields) for size in offset_sizes(values.field(at))]
    if pa.types.is_list(values.type) or pa.types.is_map(values.type):
        return [values.buffers()[1].size, *offset_sizes(values.values)]
    return []


def test_byte_arrays_of_java_arrive_unchanged(spark_driver: SparkDriver) -> None:
    decoder = spark_driver.process.gateway.jvm.java.util.Base64.getDecoder()
    every_byte = bytes(range(256))
    for expected in (b"", every_byte, every_byte * 300):
        found = decoder.decode(base64.b64encode(expected).decode())
        assert isinstance(found, bytearray) and found == expected
