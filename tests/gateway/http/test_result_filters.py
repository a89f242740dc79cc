"""Conditions on a result's rows, their count, and the statistics of a column."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from urllib.parse import quote

import pyarrow as pa
import pytest

from gateway.http import column_statistics, result_filters, result_rows
from tests.gateway.arrow_engine import rows
from tests.gateway.http.conftest import STATEMENTS, Api
from tests.gateway.http.test_ownership import headers
from tests.gateway.http.test_result_routes import SQL_TYPES, TABLE, window

COLUMNS = {name: at for at, name in enumerate([*TABLE.column_names, "day", "b", "bin", "nothing"])}


@pytest.fixture
def result(api: Api) -> str:
    """Returns an ended statement's path; the column `n` identifies its four rows: 3, NULL, 1, 2."""
    table = TABLE
    for name, values in {
        "day": pa.array([dt.date(2024, 7, 1), dt.date(1, 1, 1), None, dt.date(2024, 7, 2)]),
        "b": pa.array([True, False, None, True]),
        "bin": pa.array([b"\x01\xff", b"", None, b"\x01\xff"]),
        "nothing": pa.nulls(4),
    }.items():
        table = table.append_column(name, values)
    sql_types = SQL_TYPES | {"nothing": "void"}
    api.engine.answers["SELECT t"] = rows(table, sql_types, time_zone="Europe/Amsterdam")
    return f"{STATEMENTS}/{api.submit('SELECT t', wait_timeout='50s')['statement_id']}"


def conditions(*given: tuple[str, str, dict[str, str]]) -> str:
    found = [{"column": COLUMNS[name], "operator": operator, **values} for name, operator, values in given]
    return quote(json.dumps(found))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("n", "equals", {"value": "3"}), ["3"]),
        (("n", "equals", {"value": "3.5"}), []),
        (("n", "equals", {"value": "99999999999999999999999"}), []),
        (("n", "range", {"from": "1.5"}), ["3", "2"]),
        (("n", "range", {"from": "-1e30", "to": "2"}), ["1", "2"]),
        (("n", "range", {"to": "1e30"}), ["3", "1", "2"]),
        (("n", "range", {}), ["3", "1", "2"]),
        (("n", "contains", {"value": "3"}), ["3"]),
        (("n", "is_null", {}), [None]),
        (("n", "is_not_null", {}), ["3", "1", "2"]),
        (("s", "contains", {"value": "A"}), [None, "2"]),
        (("s", "contains", {"value": "%"}), []),
        (("s", "equals", {"value": "A"}), []),
        (("s", "equals", {"value": "a"}), [None, "2"]),
        (("s", "range", {"from": "aa", "to": "b"}), ["3"]),
        (("s", "is_null", {}), ["1"]),
        (("d", "equals", {"value": "2.5"}), ["3"]),
        (("d", "equals", {"value": "2.501"}), []),
        (("d", "range", {"from": "-1.001", "to": "2.509"}), ["3", None]),
        (("d", "range", {"from": "-1e60", "to": "1e60"}), ["3", None, "2"]),
        (("at", "equals", {"value": "2024-07-01 14:00:00"}), ["3"]),
        (("at", "equals", {"value": "2024-07-01"}), ["3"]),
        (("at", "range", {"from": "2024-07-01T14:00:01"}), []),
        (("at", "range", {"to": "1970-01-01"}), ["2"]),
        (("at", "range", {"to": "9999-12-31"}), ["3", "2"]),
        (("l", "equals", {"value": "[1]"}), [None, "2"]),
        (("l", "contains", {"value": "2"}), ["3"]),
        (("x", "range", {"from": "-0.5", "to": "0.4"}), ["2"]),
        (("x", "equals", {"value": "NaN"}), [None]),
        (("day", "range", {"from": "2024-07-02"}), ["2"]),
        (("day", "contains", {"value": "0001"}), [None]),
        (("b", "equals", {"value": "true"}), ["3", "2"]),
        (("bin", "equals", {"value": "01FF"}), ["3", "2"]),
        (("nothing", "is_null", {}), ["3", None, "1", "2"]),
        (("nothing", "equals", {"value": ""}), []),
    ],
)
def test_condition_selects_rows_of_the_whole_result(
    api: Api, result: str, given: tuple[str, str, dict[str, str]], expected: list[str | None]
) -> None:
    query = f"filter={conditions(given)}"
    assert window(api, result, f"columns=0&{query}") == {"n": expected}
    assert api.ask("GET", f"{result}/result/count?{query}") == {"row_count": len(expected)}


def test_conditions_all_hold_and_order_applies_to_selected_rows(api: Api, result: str) -> None:
    both = conditions(("s", "is_not_null", {}), ("d", "range", {"from": "2"}))
    assert window(api, result, f"columns=0&filter={both}&order=2.desc") == {"n": ["2", "3"]}
    assert window(api, result, f"columns=0&filter={both}&order=2.desc&offset=1") == {"n": ["3"]}
    assert window(api, result, "columns=0&order=0.asc") == {"n": ["1", "2", "3", None]}
    assert api.ask("GET", f"{result}/result/count") == {"row_count": 4}


def test_conditions_are_evaluated_in_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (result_filters, result_rows, column_statistics):
        monkeypatch.setattr(module, "_PAGE_BYTES", 3000)
    path = f"{STATEMENTS}/{api.submit('ROWS 2500', wait_timeout='50s')['statement_id']}"
    tens = quote(json.dumps([{"column": 1, "operator": "contains", "value": "ROW 24"}]))
    expected = [row for row in range(2500) if str(row).startswith("24")]
    assert window(api, path, f"filter={tens}&limit=10000")["id"] == [str(row) for row in expected]
    descending = window(api, path, f"filter={tens}&limit=3&order=0.desc")
    assert descending["id"] == ["2499", "2498", "2497"]
    found = api.ask("GET", f"{path}/result/statistics?column=0&filter={tens}")
    assert found == {"row_count": 111, "null_count": 0, "distinct_count": 111, "min": "24", "max": "2499"}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("n", (1, 3, "1", "3")),
        ("s", (1, 2, "a", "b")),
        ("d", (1, 3, "-1.00", "10.00")),
        ("at", (2, 2, "1970-01-01 01:00:00", "2024-07-01 14:00:00")),
        ("l", (1, 2, None, None)),
        ("x", (1, 3, "-0.5", "NaN")),
        ("day", (1, 3, "0001-01-01", "2024-07-02")),
        ("b", (1, 2, "false", "true")),
        ("bin", (1, 2, "", "01FF")),
        ("nothing", (4, 0, None, None)),
    ],
)
def test_statistics_of_a_column(
    api: Api, result: str, column: str, expected: tuple[int, int, str | None, str | None]
) -> None:
    found = api.ask("GET", f"{result}/result/statistics?column={COLUMNS[column]}")
    names = ("null_count", "distinct_count", "min", "max")
    assert found == {"row_count": 4} | dict(zip(names, expected, strict=True))


def test_distinct_values_beyond_the_memory_limit_are_not_counted(
    api: Api, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_statistics, "_DISTINCT_BYTES_MAX", 8)
    found = api.ask("GET", f"{result}/result/statistics?column=0")
    assert (found["distinct_count"], found["min"], found["max"]) == (None, "1", "3")


def test_statistics_of_no_rows(api: Api, result: str) -> None:
    nothing = conditions(("n", "equals", {"value": "7"}))
    found = api.ask("GET", f"{result}/result/statistics?column=1&filter={nothing}")
    assert found == {"row_count": 0, "null_count": 0, "distinct_count": 0, "min": None, "max": None}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        "[1]",
        "[" * 100_000,
        json.dumps([{"column": 10, "operator": "is_null"}]),
        json.dumps([{"column": True, "operator": "is_null"}]),
        json.dumps([{"column": "0", "operator": "is_null"}]),
        json.dumps([{"column": 0, "operator": "drop"}]),
        json.dumps([{"column": 0, "operator": ["equals"]}]),
        json.dumps([{"column": 0, "operator": "equals"}]),
        json.dumps([{"column": 0, "operator": "equals", "value": 3}]),
        json.dumps([{"column": 0, "operator": "equals", "value": "three"}]),
        json.dumps([{"column": 2, "operator": "range", "from": "NaN"}]),
        json.dumps([{"column": 3, "operator": "range", "from": "yesterday"}]),
        json.dumps([{"column": 3, "operator": "range", "to": "2024-07-01T12:00+02:00"}]),
        json.dumps([{"column": 0, "operator": "is_null"}] * 101),
    ],
)
def test_other_conditions_are_rejected(api: Api, result: str, text: str) -> None:
    for part in ("rows", "count", "statistics"):
        path = f"{result}/result/{part}?column=0&filter={quote(text)}"
        assert api.refuse("GET", path) == (400, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize("part", ["count", "statistics"])
def test_count_and_statistics_are_the_owners_alone(api: Api, result: str, part: str) -> None:
    assert api.request("GET", f"{result}/result/{part}").status_code == 200
    assert api.refuse("GET", f"{result}/result/{part}", **headers("bob")) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_large_exact_values_are_compared_exactly(api: Api) -> None:
    table = pa.table(
        {
            "i": pa.array([2**63 - 1, 2**63 - 2]),
            "d": pa.array([Decimal(10**38 - 1), Decimal(10**38 - 2)], pa.decimal128(38, 0)),
        }
    )
    api.engine.answers["SELECT large"] = rows(table)
    path = f"{STATEMENTS}/{api.submit('SELECT large', wait_timeout='50s')['statement_id']}"
    for column, values in enumerate((table["i"], table["d"])):
        first = str(values[0].as_py())
        given = quote(json.dumps([{"column": column, "operator": "equals", "value": first}]))
        assert window(api, path, f"columns={column}&filter={given}") == {table.column_names[column]: [first]}
