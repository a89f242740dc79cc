"""A result's rows by position, sorted, as numbers and as files; and a statement's profile."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gateway.http import result_files, result_rows
from gateway.http.encode import csv_bytes
from tests.gateway.arrow_engine import rows, sleeps
from tests.gateway.http.conftest import STATEMENTS, Api
from tests.gateway.http.test_ownership import headers

TABLE = pa.table(
    {
        "n": pa.array([3, None, 1, 2], pa.int64()),
        "s": ["b", "a", None, "a"],
        "d": pa.array([Decimal("2.50"), Decimal("-1.00"), None, Decimal("10.00")], pa.decimal128(10, 2)),
        "at": pa.array([dt.datetime(2024, 7, 1, 12), None, None, dt.datetime(1970, 1, 1)], pa.timestamp("us", "UTC")),
        "l": pa.array([[2], [1], None, [1]], pa.list_(pa.int32())),
        "x": pa.array([0.5, float("nan"), None, -0.5]),
    }
)
SQL_TYPES = {"l": "array<int>", "x": "double"}


@pytest.fixture
def result(api: Api) -> str:
    """Returns an ended statement's path."""
    api.engine.answers["SELECT t"] = rows(TABLE, SQL_TYPES, time_zone="Europe/Amsterdam")
    return f"{STATEMENTS}/{api.submit('SELECT t', wait_timeout='50s')['statement_id']}"


def window(api: Api, path: str, query: str) -> dict[str, list[object]]:
    response = api.request("GET", f"{path}/result/rows?{query}")
    assert response.status_code == 200, response.text
    return dict(pa.ipc.open_stream(response.data).read_all().to_pydict())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=2", {"n": ["3", None], "s": ["b", "a"]}),
        ("offset=3", {"n": ["2"], "s": ["a"]}),
        ("offset=4", {"n": [], "s": []}),
        ("offset=99999999999", {"n": [], "s": []}),
        ("order=0.asc", {"n": ["1", "2", "3", None]}),
        ("order=0.desc", {"n": ["3", "2", "1", None]}),
        ("order=0.desc&offset=1&limit=2", {"n": ["2", "1"]}),
        ("order=1.asc", {"s": ["a", "a", "b", None], "n": [None, "2", "3", "1"]}),
        ("order=2.desc", {"d": ["10.00", "2.50", "-1.00", None]}),
        ("order=4.asc", {"l": ["[1]", "[1]", "[2]", None]}),
        ("columns=0,5&form=number", {"n": [3.0, None, 1.0, 2.0]}),
        ("columns=2&form=number", {"d": [2.5, -1.0, None, 10.0]}),
        ("columns=3&form=number", {"at": [1719842400.0, None, None, 3600.0]}),
        ("columns=3", {"at": ["2024-07-01 14:00:00", None, None, "1970-01-01 01:00:00"]}),
        ("columns=1,3&cut=4", {"s": ["b", "a", None, "a"], "at": ["2024", None, None, "1970"]}),
        ("columns=0,1&cut=1&form=number", {"n": [3.0, None, 1.0, 2.0], "s": ["b", "a", None, "a"]}),
        ("columns=1&form=number", {"s": ["b", "a", None, "a"]}),
    ],
)
def test_rows_by_position(api: Api, result: str, query: str, expected: dict[str, list[object]]) -> None:
    found = window(api, result, query)
    assert {name: found[name] for name in expected} == expected
    if "columns" not in query:
        assert list(found) == TABLE.column_names


def test_windows_of_a_sorted_result_are_its_rows_once_each(api: Api) -> None:
    path = f"{STATEMENTS}/{api.submit('ROWS 2500', wait_timeout='50s')['statement_id']}"
    found = [
        cell for at in range(0, 2500, 400) for cell in window(api, path, f"offset={at}&limit=400&order=0.desc")["id"]
    ]
    assert found == [str(row) for row in reversed(range(2500))]


def test_a_sorted_window_reads_the_parts_that_have_its_rows(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_rows, "_PAGE_BYTES", 3000)
    path = f"{STATEMENTS}/{api.submit('ROWS 2500', wait_timeout='50s')['statement_id']}"
    for query, expected in (
        ("order=1.asc&offset=0&limit=4", [0, 1, 10, 100]),  # as text
        ("order=1.desc&offset=1&limit=3", [998, 997, 996]),
        ("order=0.desc&offset=2400&limit=200", list(range(99, -1, -1))),
        ("order=0.desc&offset=2500&limit=200", []),
        ("offset=990&limit=20", list(range(990, 1010))),
    ):
        found = window(api, path, query)
        assert (found["id"], found["name"]) == ([str(i) for i in expected], [f"row {i}" for i in expected])


def test_a_result_that_is_too_large_is_not_sorted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_rows, "_SORTED_BYTES_MAX", 40_000)
    path = f"{STATEMENTS}/{api.submit('ROWS 2500', wait_timeout='50s')['statement_id']}"
    assert window(api, path, "order=0.asc&limit=2")["id"] == ["0", "1"]
    answer = api.request("GET", f"{path}/result/rows?order=1.asc").json
    assert answer and (answer["condition"], answer["sql_state"]) == ("RESULT_TOO_LARGE.SORTED", "54000")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=10001", "limit=x", "offset=-1", "order=6.asc", "order=0", "order=0.up", "columns=6", "columns="]
    + ["columns=0,", "cut=0", "form=html", "limit=99999999999999999999", "offset=4611686018427387905"],
)
def test_other_windows_are_refused(api: Api, result: str, query: str) -> None:
    assert api.refuse("GET", f"{result}/result/rows?{query}") == (400, "INVALID_PARAMETER_VALUE")


def test_a_result_is_a_file(api: Api, result: str) -> None:
    csv = api.request("GET", f"{result}/result/file?format=csv")
    assert csv.headers["Content-Disposition"].startswith("attachment; filename=")
    assert csv.text.splitlines()[:2] == ["n,s,d,at,l,x", "3,b,2.50,2024-07-01 14:00:00,[2],0.5"]
    parquet = api.request("GET", f"{result}/result/file?format=parquet")
    assert pq.read_table(io.BytesIO(parquet.data)).drop_columns("x").to_pydict() == TABLE.drop_columns("x").to_pydict()
    arrow = api.request("GET", f"{result}/result/file?format=arrow")
    assert (
        pa.ipc.open_stream(arrow.data).read_all().drop_columns("x").to_pydict() == TABLE.drop_columns("x").to_pydict()
    )
    assert api.refuse("GET", f"{result}/result/file?format=exe") == (400, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize("text", ["ROWS 0", "ROWS 1", "ROWS 2500"])
def test_a_file_of_text_is_made_in_pieces(api: Api, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = f"{STATEMENTS}/{api.submit(text, wait_timeout='50s')['statement_id']}/result/file?format=csv"
    whole = api.request("GET", path).data
    pieces = list[int]()

    def made(table: pa.Table, zone: str, *, header: bool) -> bytes:
        pieces.append(table.num_rows)
        return csv_bytes(table, zone, header=header)

    monkeypatch.setattr(result_files, "csv_bytes", made)
    monkeypatch.setattr(result_files, "_PIECE_BYTES", 2000)
    count = int(text.split()[1])
    assert api.request("GET", path).data == whole
    assert whole.count(b"\n") == count + 1 and sum(pieces) == count and max(pieces) < 200


def test_columns_of_one_name_are_columns_of_a_file(api: Api) -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], ["a", "a"])
    api.engine.answers["SELECT twice"] = rows(twice)
    path = f"{STATEMENTS}/{api.submit('SELECT twice', wait_timeout='50s')['statement_id']}"
    content = api.request("GET", f"{path}/result/file?format=parquet").data
    assert pq.read_table(io.BytesIO(content)).to_pydict() == {"a": [1], "a_1": [2]}


def test_a_statement_that_runs_has_a_profile_and_no_rows(api: Api) -> None:
    api.engine.answers["SELECT slow"] = sleeps(30)
    path = f"{STATEMENTS}/{api.submit('SELECT slow', wait_timeout='0s')['statement_id']}"
    assert api.refuse("GET", f"{path}/result/rows") == (409, "INVALID_STATE")
    profile = api.ask("GET", f"{path}/profile")
    assert profile["state"] in ("PENDING", "RUNNING") and profile["ended_ms"] is None and profile["rows"] == 0
    api.ask("POST", f"{path}/cancel")
    ended = api.ask("GET", f"{path}/profile")
    assert ended["state"] == "CANCELED" and ended["stage"] is None and ended["ended_ms"] >= ended["created_ms"]
    assert "queue" in [stage["name"] for stage in ended["stages"]]


def test_a_profile_counts_the_rows(api: Api, result: str) -> None:
    profile = api.ask("GET", f"{result}/profile")
    assert (profile["rows"], profile["reads"]) == (4, []) and profile["log"]
    assert [stage["name"] for stage in profile["stages"]][-1] == "stream"


@pytest.mark.parametrize("part", ["result/rows", "result/file", "profile", "plan"])
def test_a_result_is_its_owners_alone(api: Api, result: str, part: str) -> None:
    """Also to an administrator, which everybody is on a server without authentication."""
    for path in (result, f"{STATEMENTS}/nothing", f"{STATEMENTS}/00000000-0000-0000-0000-000000000000"):
        assert api.refuse("GET", f"{path}/{part}", **headers("bob")) == (404, "RESOURCE_DOES_NOT_EXIST")
