"""NULL and empty nested values in every result form, from tables, constants and aggregates.

Their children are empty arrays, for which Java omits the offsets.
"""

from __future__ import annotations

import csv
import io
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyhive import hive

from tests.clients import test_result_forms as forms
from tests.clients.fix_server import RealServer
from tests.clients.nested_values import LEVELS, Value, kinds

pytestmark = [pytest.mark.clients, pytest.mark.spark]

KINDS = kinds()
COLUMNS = ", ".join(f"c{at}" for at in range(len(KINDS)))
ROWS = [[kind.level(level) for kind in KINDS] for level in range(LEVELS)]
REPEATED = 5000
Read = Callable[[RealServer, str], list[list[Any]]]


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def table(server: RealServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yields a row for each level, with its number."""
    http, schema = server.http(), f"nested_nulls_{request.param}"
    name = f"{schema}.t"
    columns = ", ".join(f"c{at} {kind.sql}" for at, kind in enumerate(KINDS))
    http.run(f"CREATE SCHEMA {schema}")
    http.run(f"CREATE TABLE {name} (n INT, {columns}) USING {request.param}")
    for level, row in enumerate(ROWS):
        http.run(f"INSERT INTO {name} SELECT {level}, {', '.join(cell.sql for cell in row)}")
    yield name
    http.run(f"DROP SCHEMA {schema} CASCADE")


def of_file(server: RealServer, text: str, format_: str) -> bytes:
    statement = server.http().run(text, disposition="EXTERNAL_LINKS")["statement_id"]
    return of_result(server, statement, f"file?format={format_}")


def of_result(server: RealServer, statement: str, part: str) -> bytes:
    url = f"http://127.0.0.1:{server.http_port}/api/2.0/sql/statements/{statement}/result/{part}"
    with urllib.request.urlopen(url, timeout=90) as response:
        return bytes(response.read())


def csv_file(server: RealServer, text: str) -> list[list[Any]]:
    return list(csv.reader(io.StringIO(of_file(server, text, "csv").decode(), newline="")))[1:]


def parquet_file(server: RealServer, text: str) -> list[list[Any]]:
    return cells(pq.read_table(io.BytesIO(of_file(server, text, "parquet"))))


def arrow_file(server: RealServer, text: str) -> list[list[Any]]:
    return cells(measured(pa.ipc.open_stream(of_file(server, text, "arrow")).read_all()))


def arrow_chunks(server: RealServer, text: str) -> list[list[Any]]:
    return cells(measured(server.http().arrow(text)[1]))


def arrow_of_thrift(server: RealServer, text: str) -> list[list[Any]]:
    return forms.arrow(server, text, forms._TYPES)


def windows(server: RealServer, text: str) -> list[list[Any]]:
    """Returns rows by position, as the console requests them; then sorted by each column, and as numbers."""
    statement = server.http().run(text, disposition="EXTERNAL_LINKS")["statement_id"]
    found = window(server, statement, "rows?offset=0&limit=100")
    for part in [f"rows?offset=0&limit=100&order={at}.desc" for at in range(len(found[0]))] + ["rows?form=number"]:
        assert len(window(server, statement, part)) == len(found)
    return found


def window(server: RealServer, statement: str, part: str) -> list[list[Any]]:
    return cells(pa.ipc.open_stream(of_result(server, statement, part)).read_all())


def pyhive(server: RealServer, text: str) -> list[list[Any]]:
    with closing(hive.connect("127.0.0.1", server.thrift_port)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(text)
        return [list(row) for row in cursor.fetchall()]


def measured(table: pa.Table) -> pa.Table:
    """Measures values as clients may; their process must not end either."""
    assert table.nbytes >= 0
    return table


def cells(table: pa.Table) -> list[list[Any]]:
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def as_text(value: Value) -> str | None:
    return None if value.value is None else value.text


def as_csv(value: Value) -> str:
    return value.text


def as_value(value: Value) -> Any:
    return value.value


READINGS: list[tuple[Read, Callable[[Value], Any]]] = [
    (forms.json_over_http, as_text),
    (forms.csv_over_http, as_csv),
    (csv_file, as_csv),
    (windows, as_text),
    (forms.columns, as_text),
    (forms.old_rows, as_text),
    (pyhive, as_text),
    (forms.arrow, as_text),
    (arrow_of_thrift, as_value),
    (arrow_chunks, as_value),
    (arrow_file, as_value),
    (parquet_file, as_value),
]


@pytest.mark.diagonals("table", "read", step=2)
@pytest.mark.parametrize(("read", "shown"), READINGS, ids=[read.__name__ for read, _ in READINGS])
def test_rows_of_tables(server: RealServer, table: str, read: Read, shown: Callable[[Value], Any]) -> None:
    """Each row alone, whose columns have no children at some depth, and all together."""
    for level, row in enumerate(ROWS):
        [found] = read(server, f"SELECT {COLUMNS} FROM {table} WHERE n = {level}")
        assert found == list(map(shown, row)), level
    found = read(server, f"SELECT {COLUMNS} FROM {table} ORDER BY n")
    assert found == [list(map(shown, row)) for row in ROWS]


def test_answers_that_are_cached(server: RealServer, table: str) -> None:
    http = server.http()
    for text in [f"SELECT {COLUMNS} FROM {table} WHERE n = {level} AND n >= 0" for level in range(LEVELS)]:
        first, again = http.run(text), http.run(text)
        assert http.ask("GET", f"/statements/{again['statement_id']}/profile")["from_cache"]
        assert again["result"]["data_array"] == first["result"]["data_array"]


def test_results_in_files(server: RealServer, table: str) -> None:
    """More rows than a result holds in memory, read by position, as chunks and as a file."""
    for level in range(3):
        text = f"SELECT {COLUMNS} FROM {table} CROSS JOIN range({REPEATED}) WHERE n = {level}"
        statement = server.http().run(text, disposition="EXTERNAL_LINKS")["statement_id"]
        expected = list(map(as_text, ROWS[level]))
        assert window(server, statement, f"rows?offset={REPEATED - 2}&limit=9") == [expected] * 2
        assert measured(server.http().arrow(text)[1]).num_rows == REPEATED
        assert len(forms.columns(server, text)) == REPEATED
        assert pq.read_table(io.BytesIO(of_result(server, statement, "file?format=parquet"))).num_rows == REPEATED


@pytest.mark.parametrize(("read", "shown"), READINGS, ids=[read.__name__ for read, _ in READINGS])
def test_constants_and_aggregates(server: RealServer, read: Read, shown: Callable[[Value], Any]) -> None:
    for level in (0, 1, 2, 3):
        values = [kind.level(level) for kind in KINDS]
        assert read(server, f"SELECT {', '.join(value.sql for value in values)}") == [list(map(shown, values))]
    nothing, empty = Value("", [], "[]"), Value("", [[]], "[[]]")
    text = (
        "SELECT collect_list(m), collect_list(IF(id = 0, array(), NULL)), "
        "array_repeat(CAST(NULL AS MAP<STRING, INT>), 0), array_repeat(CAST(NULL AS MAP<STRING, ARRAY<INT>>), 0) "
        "FROM (SELECT id, CAST(NULL AS MAP<STRING, ARRAY<INT>>) AS m FROM range(3))"
    )
    assert read(server, text) == [list(map(shown, (nothing, empty, nothing, nothing)))]
