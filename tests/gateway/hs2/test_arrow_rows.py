"""Arrow batches as Databricks' clients ask for them: types, zones, compression, and how the bytes are put together."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import lz4.frame
import pyarrow as pa
import pytest

from gateway.hs2.arrow_rows import SQL_NAME, ArrowTypes, arrow_batches, arrow_schema, arrow_zone
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import rows, typed
from tests.gateway.hs2.wire import OK, Lab, fetch, open_session

INSTANT = pa.timestamp("us", "UTC")
NOON = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)
ALL = ArrowTypes(timestamps=True, decimals=True, nested=True, intervals=True, nulls=True)
NESTED = pa.struct([("at", INSTANT), ("m", pa.map_(pa.string(), pa.list_(pa.decimal128(5, 2))))])
CASES: list[tuple[str, pa.Array, str, ArrowTypes, pa.DataType, list[Any]]] = [
    ("int", pa.array([1, None], pa.int32()), "int", ArrowTypes(), pa.int32(), [1, None]),
    ("float", pa.array([1.5, None], pa.float32()), "float", ArrowTypes(), pa.float32(), [1.5, None]),
    ("binary", pa.array([b"\xff"]), "binary", ArrowTypes(), pa.binary(), [b"\xff"]),
    ("date", pa.array([dt.date(1, 1, 1)]), "date", ArrowTypes(), pa.date32(), [dt.date(1, 1, 1)]),
    ("decimal as text", pa.array([Decimal("1.50")]), "decimal(3,2)", ArrowTypes(), pa.string(), ["1.50"]),
    ("decimal", pa.array([Decimal("1.50")]), "decimal(3,2)", ALL, pa.decimal128(3, 2), [Decimal("1.50")]),
    ("instant as text", pa.array([NOON], INSTANT), "timestamp", ArrowTypes(), pa.string(), ["2024-07-01 14:00:00"]),
    ("instant", pa.array([NOON], INSTANT), "timestamp", ALL, pa.timestamp("us", "Europe/Berlin"), [NOON]),
    (
        "wall clock",
        pa.array([0], pa.timestamp("us")),
        "timestamp_ntz",
        ALL,
        pa.timestamp("us"),
        [dt.datetime(1970, 1, 1)],
    ),
    ("list as text", pa.array([[1, None]]), "array<bigint>", ArrowTypes(decimals=True), pa.string(), ["[1,null]"]),
    ("list", pa.array([[1, None], None]), "array<bigint>", ALL, pa.list_(pa.int64()), [[1, None], None]),
    (
        "no nested one of what is text",
        pa.array([[Decimal("1.5")]]),
        "array<decimal(2,1)>",
        ArrowTypes(nested=True),
        pa.string(),
        ["[1.5]"],
    ),
    (
        "duration as text",
        pa.array([dt.timedelta(1)]),
        "interval day to second",
        ArrowTypes(),
        pa.string(),
        ["1 00:00:00.000000000"],
    ),
    ("duration", pa.array([dt.timedelta(1)]), "interval day to second", ALL, pa.duration("us"), [dt.timedelta(1)]),
    ("null as text", pa.nulls(2), "void", ArrowTypes(), pa.string(), [None, None]),
    ("null", pa.nulls(2), "void", ALL, pa.null(), [None, None]),
    ("time", pa.array([dt.time(1, 2, 3)]), "time(6)", ALL, pa.string(), ["01:02:03"]),
]


@pytest.mark.parametrize(
    ("values", "sql_type", "types", "kind", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_each_type_travels_as_the_client_reads_it(
    values: pa.Array, sql_type: str, types: ArrowTypes, kind: pa.DataType, expected: list[Any]
) -> None:
    table = typed(pa.table({"x": values}), {"x": sql_type})
    schema = arrow_schema(table.schema, types, "Europe/Berlin")
    (batch,) = arrow_batches(table, schema, "Europe/Berlin")
    assert (schema.field("x").type, batch.column(0).to_pylist()) == (kind, expected)
    assert schema.field("x").metadata == {SQL_NAME: sql_type.upper().encode()}


def test_instants_inside_of_values_have_the_zone_too() -> None:
    value = {"at": NOON, "m": [("k", [Decimal("1.25")])]}
    table = typed(pa.table({"x": pa.array([value, None], NESTED)}), {"x": "struct<…>"})
    schema = arrow_schema(table.schema, ALL, "Asia/Tokyo")
    (batch,) = arrow_batches(table, schema, "Asia/Tokyo")
    assert schema.field("x").type.field("at").type == pa.timestamp("us", "Asia/Tokyo")
    assert batch.column(0).to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("time_zone", "zone"),
    [
        ("UTC", "UTC"),
        ("Europe/Berlin", "Europe/Berlin"),
        ("+05:30", "+05:30"),
        ("GMT-3", "-03:00"),
        ("-00:30", "-00:30"),
        ("Z", "UTC"),
        ("Java/Only", "UTC"),
    ],
)
def test_zones_as_arrow_knows_them(time_zone: str, zone: str) -> None:
    assert arrow_zone(time_zone) == zone
    assert pa.array([0], pa.timestamp("us", zone)).to_pylist()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("count", [0, 2500])
def test_the_schema_and_the_batches_are_a_stream(
    lab: Lab, client: ThriftClient, count: int, *, compressed: bool
) -> None:
    session = open_session(client, client_protocol_i64=42247)
    request = t.TExecuteStatementReq(
        session, f"ROWS {count}", canReadArrowResult=True, canDecompressLZ4Result=compressed
    )
    operation = client.ExecuteStatement(request).operationHandle
    metadata = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
    assert (metadata.resultFormat, metadata.lz4Compressed) == (t.TSparkRowSetType.ARROW_BASED_SET, compressed)
    response = fetch(client, operation, 100_000)
    assert (response.status.statusCode, response.hasMoreRows, response.results.columns) == (OK, False, None)
    decompress = lz4.frame.decompress if compressed else bytes
    batches = response.results.arrowBatches
    stream = metadata.arrowSchema + b"".join(decompress(batch.batch) for batch in batches)
    table = pa.ipc.open_stream(stream).read_all()
    assert table.column("id").to_pylist() == list(range(count)) and table.column_names == ["id", "name"]
    assert sum(batch.rowCount for batch in batches) == count


@pytest.mark.parametrize(
    ("overlay", "types", "kind"),
    [
        (None, None, pa.string()),
        ("true", None, pa.string()),
        ("false", None, pa.timestamp("us", "UTC")),
        (None, t.TSparkArrowTypes(timestampAsArrow=True), pa.timestamp("us", "UTC")),
        ("false", t.TSparkArrowTypes(timestampAsArrow=False), pa.string()),
        ("true", t.TSparkArrowTypes(timestampAsArrow=True), pa.string()),
    ],
)
def test_timestamps_as_text_on_request(
    lab: Lab, client: ThriftClient, overlay: str | None, types: Any, kind: pa.DataType
) -> None:
    lab.engine.answers["zoned"] = rows(pa.table({"ts": pa.array([0], INSTANT)}))
    session = open_session(client, client_protocol_i64=42247)
    key = "spark.thriftserver.arrowBasedRowSet.timestampAsString"
    request = t.TExecuteStatementReq(
        session,
        "zoned",
        confOverlay={key: overlay} if overlay else None,
        canReadArrowResult=True,
        useArrowNativeTypes=types,
    )
    operation = client.ExecuteStatement(request).operationHandle
    metadata = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
    assert pa.ipc.read_schema(pa.py_buffer(metadata.arrowSchema)).field("ts").type == kind


def test_hive_clients_get_no_result_format(client: ThriftClient, session: t.TSessionHandle) -> None:
    request = t.TExecuteStatementReq(session, "ROWS 1", canReadArrowResult=True)
    operation = client.ExecuteStatement(request).operationHandle
    metadata = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
    assert (metadata.resultFormat, metadata.arrowSchema) == (None, None)
    assert fetch(client, operation).results.columns is not None


def test_an_answer_is_as_large_as_the_client_says(client: ThriftClient) -> None:
    session = open_session(client, client_protocol_i64=42247)
    request = t.TExecuteStatementReq(session, "ROWS 5000", canReadArrowResult=True)
    operation = client.ExecuteStatement(request).operationHandle
    response = client.FetchResults(t.TFetchResultsReq(operation, 0, 5000, maxBytes=1000))
    assert response.hasMoreRows and 0 < sum(batch.rowCount for batch in response.results.arrowBatches) < 100
