"""Every Spark type in every result form: rows, columns and Arrow over Thrift, JSON, CSV and Arrow over HTTP.

Spark creates the values. Each form is compared with this table, and all text forms with each other.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import urllib.request
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from gateway.hs2.gen import ttypes as t
from tests.clients.fix_server import RealServer
from tests.clients.odbc_driver import OdbcDriver

pytestmark = [pytest.mark.clients, pytest.mark.spark]

NINES, TINY = "9" * 38, f"0.{'0' * 37}1"
JSON = '{"a":[1,null,"x"],"b":1.5}'
V5, V10, DATABRICKS = 4, 9, 42249
VALUES: list[tuple[str, Any, str, Any]] = [  # in SQL, in Hive's columns, as text, as Arrow's own
    ("true", True, "true", True),
    ("-128Y", -128, "-128", -128),
    ("32767S", 32767, "32767", 32767),
    ("2147483647", 2**31 - 1, "2147483647", 2**31 - 1),
    ("-9223372036854775808L", -(2**63), "-9223372036854775808", -(2**63)),
    ("float(0.1)", 0.1, "0.1", pa.scalar(0.1, pa.float32()).as_py()),
    ("double('NaN')", math.nan, "NaN", math.nan),
    ("double('-Infinity')", -math.inf, "-Infinity", -math.inf),
    ("1e300D", 1e300, "1.0E300", 1e300),
    (f"{NINES}BD", NINES, NINES, Decimal(NINES)),
    (f"{TINY}BD", TINY, TINY, Decimal(TINY)),
    ("-1.50BD", "-1.50", "-1.50", Decimal("-1.50")),
    ("''", "", "", ""),
    ("'é \"q\" 日本 😀, null'", 'é "q" 日本 😀, null', 'é "q" 日本 😀, null', 'é "q" 日本 😀, null'),
    ("X''", b"", "", b""),
    ("X'00FF'", b"\x00\xff", "00FF", b"\x00\xff"),
    ("DATE'0001-01-01'", "0001-01-01", "0001-01-01", dt.date(1, 1, 1)),
    ("DATE'9999-12-31'", "9999-12-31", "9999-12-31", dt.date(9999, 12, 31)),
    (
        "TIMESTAMP'2024-07-01 12:00:00.25'",
        "2024-07-01 12:00:00.25",
        "2024-07-01 12:00:00.25",
        dt.datetime(2024, 7, 1, 12, 0, 0, 250_000, dt.UTC),
    ),
    (
        "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'",
        "1969-12-31 23:59:59.999999",
        "1969-12-31 23:59:59.999999",
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    ),
    ("TIME'23:59:59.999999'", "23:59:59.999999", "23:59:59.999999", "23:59:59.999999"),
    ("INTERVAL '1-2' YEAR TO MONTH", "1-2", "1-2", "1-2"),
    (
        "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
        "-1 02:03:04.000005000",
        "-1 02:03:04.000005000",
        -dt.timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=5),
    ),
    ("make_interval(1, 2, 0, 4)", "1 years 2 months 4 days", "1 years 2 months 4 days", "1 years 2 months 4 days"),
    ("NULL", None, None, None),  # type: ignore[list-item]
    (f"parse_json('{JSON}')", JSON, JSON, JSON),
    ("array()", "[]", "[]", []),
    ("array(1, NULL)", "[1,null]", "[1,null]", [1, None]),
    ("map('k', 1.50BD)", '{"k":1.50}', '{"k":1.50}', [("k", Decimal("1.50"))]),
    (
        "named_struct('d', DATE'2024-02-29', 'b', array(X'00'), 's', '')",
        '{"d":"2024-02-29","b":["00"],"s":""}',
        '{"d":"2024-02-29","b":["00"],"s":""}',
        {"d": dt.date(2024, 2, 29), "b": [b"\0"], "s": ""},
    ),
]
QUERY = f"SELECT {', '.join(f'if(id = 0, {sql}, NULL) AS c{n}' for n, (sql, *_) in enumerate(VALUES))} FROM range(2)"
_MEMBERS = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal")
_TYPES = t.TSparkArrowTypes(
    timestampAsArrow=True,
    decimalAsArrow=True,
    complexTypesAsArrow=True,
    intervalTypesAsArrow=True,
    nullTypeAsArrow=True,
)
Read = Callable[[RealServer, str], list[list[Any]]]


def columns(server: RealServer, text: str) -> list[list[Any]]:
    with OdbcDriver(server.thrift_port, version=V10) as driver:
        found = driver.query(text)
        assert found is not None
        return [list(row) for row in found[1]]


def old_rows(server: RealServer, text: str) -> list[list[Any]]:
    """Returns rows as a client before V6 gets them."""
    with OdbcDriver(server.thrift_port, version=V5) as driver:
        operation = driver.execute(text)
        fetched = driver.client.FetchResults(t.TFetchResultsReq(operation, 0, 10))
        return [
            [next(v for m in _MEMBERS if (v := getattr(cell, m))).value for cell in row.colVals]
            for row in fetched.results.rows
        ]


def arrow(server: RealServer, text: str, types: Any = None, **fields: Any) -> list[list[Any]]:
    with OdbcDriver(server.http_port, "/sql/1.0/warehouses/any", client_protocol_i64=DATABRICKS) as driver:
        operation = driver.execute(text, canReadArrowResult=True, useArrowNativeTypes=types, **fields)
        metadata = driver.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
        fetched = driver.client.FetchResults(t.TFetchResultsReq(operation, 0, 10))
        batches = b"".join(batch.batch for batch in fetched.results.arrowBatches)
        return _rows(pa.ipc.open_stream(metadata.arrowSchema + batches).read_all())


def arrow_over_http(server: RealServer, text: str) -> list[list[Any]]:
    return _rows(server.http().arrow(text)[1])


def json_over_http(server: RealServer, text: str) -> list[list[Any]]:
    return server.http().rows(text)


def csv_over_http(server: RealServer, text: str) -> list[list[Any]]:
    answer = server.http().run(text, format="CSV", disposition="EXTERNAL_LINKS")
    with urllib.request.urlopen(answer["result"]["external_links"][0]["external_link"]) as response:
        content = response.read().decode()
    csv.field_size_limit(1 << 30)
    return list(csv.reader(io.StringIO(content, newline="")))[1:]


def _rows(table: pa.Table) -> list[list[Any]]:
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def spelled(values: list[Any]) -> list[Any]:
    """NaN, which equals nothing, as a word; a time as text, as which it travels but for Arrow over HTTP."""
    words = ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]
    return [str(value) if isinstance(value, dt.time) else value for value in words]


HIVE, TEXT, NATIVE = 1, 2, 3


@pytest.mark.parametrize(
    ("read", "form"),
    [
        (columns, HIVE),
        (old_rows, HIVE),
        (lambda server, text: arrow(server, text, _TYPES), NATIVE),
        (arrow_over_http, NATIVE),
        (json_over_http, TEXT),
    ],
    ids=["columns", "rows", "Arrow", "Arrow over HTTP", "JSON"],
)
def test_every_type_in_every_form(server: RealServer, read: Read, form: int) -> None:
    values, nulls = read(server, QUERY)
    expected = [case[form] for case in VALUES]
    if read is old_rows:  # where bytes are text, as in Hive
        expected = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in expected]
    for (sql, *_), value, wanted in zip(VALUES, spelled(values), spelled(expected), strict=True):
        assert value == wanted, sql
    assert nulls == [None] * len(VALUES)


def test_forms_of_text_agree(server: RealServer) -> None:
    [json_row, _], [csv_row, _] = json_over_http(server, QUERY), csv_over_http(server, QUERY)
    [arrow_row, _] = arrow(server, QUERY)
    assert csv_row == ["null" if value is None else value for value in json_row]
    for (sql, *_), value, text in zip(VALUES, arrow_row, json_row, strict=True):
        if isinstance(value, str):  # types sent as text that the client does not parse
            assert value == text, sql


CONNECTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [  # how a session is opened, and a statement sent
    ({"version": V5}, {}),
    ({"version": V10}, {}),
    ({"client_protocol_i64": DATABRICKS}, {"canReadArrowResult": True}),
]
FORMS = pytest.mark.parametrize(("opening", "fields"), CONNECTIONS, ids=["rows", "columns", "Arrow"])


def count(row_set: Any) -> int:
    if row_set.arrowBatches is not None:
        return sum(batch.rowCount for batch in row_set.arrowBatches)
    return len(row_set.rows) if row_set.columns is None else len(row_set.columns[0].i64Val.values)


@FORMS
def test_the_first_rows_again(server: RealServer, opening: dict[str, Any], fields: dict[str, Any]) -> None:
    with OdbcDriver(server.thrift_port, **opening) as driver:
        operation = driver.execute("SELECT id FROM range(5)", **fields)
        steps = [(t.TFetchOrientation.FETCH_NEXT, 2), (t.TFetchOrientation.FETCH_NEXT, 2)]
        steps += [(t.TFetchOrientation.FETCH_FIRST, 3), (t.TFetchOrientation.FETCH_NEXT, 3)]
        found = [driver.client.FetchResults(t.TFetchResultsReq(operation, *step)) for step in steps]
    assert [(one.results.startRowOffset, count(one.results)) for one in found] == [(0, 2), (2, 2), (0, 3), (3, 2)]
    says_more = [False] * 4 if opening.get("version") == V5 else [True, True, True, False]
    assert [one.hasMoreRows for one in found] == says_more


@FORMS
def test_a_result_without_rows_has_its_columns(
    server: RealServer, opening: dict[str, Any], fields: dict[str, Any]
) -> None:
    with OdbcDriver(server.thrift_port, **opening) as driver:
        operation = driver.execute(f"{QUERY} LIMIT 0", **fields)
        metadata = driver.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
        fetched = driver.client.FetchResults(t.TFetchResultsReq(operation, 0, 10))
    assert len(metadata.schema.columns) == len(VALUES) and fetched.hasMoreRows is False
    if metadata.arrowSchema:
        assert len(pa.ipc.read_schema(pa.py_buffer(metadata.arrowSchema))) == len(VALUES)
    elif fetched.results.columns is not None:
        assert len(fetched.results.columns) == len(VALUES)
    else:
        assert fetched.results.rows == []


LARGE = 100 << 20


@pytest.mark.slow
@pytest.mark.parametrize("read", [columns, old_rows, arrow, arrow_over_http, csv_over_http, json_over_http])
def test_a_cell_of_100_mb(server: RealServer, read: Read) -> None:
    [[size, cell]] = read(server, f"SELECT {LARGE}, repeat('x', {LARGE})")
    assert int(size) == len(cell) == LARGE and cell.count("x") == LARGE
