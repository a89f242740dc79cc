"""databricks-sql-connector by its default backend, unmodified: Thrift over HTTP with Databricks' extensions."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from databricks import sql
from databricks.sql.exc import DatabaseError, ServerOperationError

from engine.runtime.parameters import Parameter
from gateway.hs2 import fetching
from gateway.hs2 import service as service_module
from tests.clients.conftest import Served
from tests.gateway.arrow_engine import rows

PATH = "/sql/1.0/warehouses/any"


def connect(port: int, **settings: Any) -> Any:
    return sql.connect(
        server_hostname="127.0.0.1",
        http_path=PATH,
        access_token="any",
        _connection_uri=f"http://127.0.0.1:{port}{PATH}",
        enable_telemetry=False,
        _retry_stop_after_attempts_count=1,
        **settings,
    )


@pytest.fixture
def connection(served: Served) -> Iterator[Any]:
    connection = connect(served.http_port, catalog="spark_catalog", schema="lab")
    yield connection
    connection.close()


@pytest.fixture
def cursor(connection: Any) -> Iterator[Any]:
    with connection.cursor() as cursor:
        yield cursor


def answered(cursor: Any, text: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in cursor.execute(text, parameters).fetchall()]


def test_a_session_begins_where_it_should(cursor: Any, served: Served) -> None:
    session = served.engine.sessions[-1]
    assert (session.current_catalog, session.current_schema) == ("spark_catalog", "lab")


def test_values_of_all_types(served: Served) -> None:
    with connect(served.http_port, _use_arrow_native_complex_types=False) as connection, connection.cursor() as cursor:
        values, nulls = answered(cursor, "SELECT types")
        kinds = [kind for _, kind, *_ in cursor.description]
    noon = dt.datetime(2024, 7, 1, 12, 0, 0, 250000, dt.UTC)
    assert values == (
        *(True, -128, -32768, 2147483647, -9223372036854775808, 1.5, 1e10, Decimal("-1.50"), 'é "q" 日本', b"raw"),
        *(dt.date(2024, 2, 29), noon, "[1,null]", '{"x":1,"y":"z"}'),
    )
    assert nulls == (None,) * len(values)
    assert kinds[:5] == ["boolean", "tinyint", "smallint", "int", "bigint"] and kinds[-2:] == ["array", "struct"]


def test_complex_values_as_arrow_has_them(cursor: Any) -> None:
    table = cursor.execute("SELECT types").fetchall_arrow()
    assert table.column("arr").to_pylist() == [[1, None], None]
    assert table.column("st").to_pylist() == [{"x": 1, "y": "z"}, None]


@pytest.mark.parametrize("compressed", [True, False])
def test_many_rows(served: Served, *, compressed: bool) -> None:
    with connect(served.http_port, enable_query_result_lz4_compression=compressed) as connection:
        cursor = connection.cursor(arraysize=30_000)
        table = cursor.execute("ROWS 100000").fetchall_arrow()
        assert table.column("id").to_pylist() == list(range(100_000))
        cursor.execute("ROWS 5000")
        assert [len(cursor.fetchmany(2000)) for _ in range(4)] == [2000, 2000, 1000, 0]


@pytest.mark.parametrize("compressed", [True, False])
def test_many_rows_by_links(served: Served, monkeypatch: pytest.MonkeyPatch, *, compressed: bool) -> None:
    monkeypatch.setattr(service_module, "LINKED_FROM_BYTES", 1 << 20)
    monkeypatch.setattr(fetching, "FETCH_BYTES_MAX", 1 << 20)
    with connect(served.http_port, enable_query_result_lz4_compression=compressed) as connection:
        cursor = connection.cursor(arraysize=30_000)
        table = cursor.execute("ROWS 200000").fetchall_arrow()
        assert table.column("id").to_pylist() == list(range(200_000))
        assert type(cursor.active_result_set.results).__name__ == "ThriftCloudFetchQueue"


def test_counts_of_rows(cursor: Any) -> None:
    assert cursor.execute("INSERT").rowcount == 3
    assert cursor.execute("SELECT 1").rowcount == -1
    assert cursor.execute("USE lab").rowcount == 0


def test_parameters_keep_their_types(cursor: Any, served: Served) -> None:
    served.engine.answers["SELECT ?"] = served.engine.answers["SELECT :a"] = rows(pa.table({"x": [1]}))
    given = [None, "it's", 1.5, True, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 2), Decimal("1.50"), 2**40]
    answered(cursor, "SELECT ?", given)
    sent = [(parameter.sql_type, parameter.value) for parameter in served.engine.runs[-1].parameters]
    assert sent == [
        ("VOID", None),
        ("STRING", "it's"),
        ("DOUBLE", "1.5"),
        ("BOOLEAN", "True"),
        ("DATE", "2024-01-01"),
        ("TIMESTAMP", "2024-01-01 02:00:00"),
        ("DECIMAL(3,2)", "1.50"),
        ("BIGINT", "1099511627776"),
    ]
    answered(cursor, "SELECT :a", {"a": 5})
    assert served.engine.runs[-1].parameters == (Parameter(name="a", value="5", sql_type="INT"),)


def test_the_catalog_is_browsed(cursor: Any) -> None:
    def seen(call: Any, column: int, **names: str) -> list[Any]:
        return [row[column] for row in call(**names).fetchall()]

    assert seen(cursor.catalogs, 0) == ["spark_catalog"]
    assert seen(cursor.schemas, 0, catalog_name="spark_catalog") == ["default", "lab"]
    assert seen(cursor.tables, 2, schema_name="lab") == ["t"]
    assert seen(cursor.columns, 3, schema_name="lab", table_name="t") == ["i", "s"]


def test_an_error_is_said_and_the_session_goes_on(cursor: Any) -> None:
    with pytest.raises(ServerOperationError, match=r"^\[PARSE_SYNTAX_ERROR.TEST\] Syntax error at or near"):
        cursor.execute("SELEKT 1")
    assert answered(cursor, "SELECT 1") == [(1,)]


def test_cancelling_from_another_thread(cursor: Any, served: Served) -> None:
    known = len(served.engine.runs)
    begun = threading.Timer(0.1, _cancel_when_started, [cursor, known, served])
    begun.start()
    with pytest.raises(DatabaseError, match="OPERATION_CANCELED|cancel"):
        cursor.execute("SLEEP 300")
    assert answered(cursor, "SELECT 1") == [(1,)]


def _cancel_when_started(cursor: Any, known: int, served: Served) -> None:
    """The connector has a statement id to cancel once its call has returned."""
    pause = threading.Event()
    while len(served.engine.runs) <= known or served.engine.runs[-1].context.cancel.reason is None:
        pause.wait(0.1)
        if cursor.active_command_id is not None:
            cursor.cancel()


def test_an_asynchronous_statement(cursor: Any) -> None:
    cursor.execute_async("SLEEP 0.2")
    while cursor.is_query_pending():
        pass
    cursor.get_async_execution_result()
    assert [tuple(row) for row in cursor.fetchall()] == [(0.2,)]


def test_closed_statements_leave_no_operation_open(served: Served, connection: Any) -> None:
    with connection.cursor() as cursor:
        for text in ("SELECT 1", "ROWS 100000", "INSERT", "SELECT 1"):
            cursor.execute(text)
    assert served.registry.operations() == ()
