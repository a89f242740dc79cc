"""Behavior that every HiveServer2 client must see alike, over any transport, protocol version and language."""

from __future__ import annotations

import pytest

from tests.clients.drivers import Driver, StatementFailed, column

pytestmark = pytest.mark.clients

# A row with all types; both spellings if Python and Java print a value differently.
VALUES = [
    *("true", "-128", "-32768", "2147483647", "-9223372036854775808", "1.5"),
    *(("10000000000.0", "1.0E10"), "-1.50", 'é "q" 日本', "raw", "2024-02-29", "2024-07-01 12:00:00.25"),
    *("[1,null]", '{"x":1,"y":"z"}'),
]


def test_values_of_all_types(driver: Driver) -> None:
    values, nulls = driver.run("SELECT types")
    assert len(values) == len(VALUES)
    for value, expected in zip(values, VALUES, strict=True):
        assert value in expected if isinstance(expected, tuple) else value == expected
    assert nulls == ["NULL"] * len(VALUES)


def test_a_result_of_many_fetches(driver: Driver) -> None:
    rows = driver.run("ROWS 12000")
    assert column(rows) == [str(i) for i in range(12000)]
    assert rows[-1] == ["11999", "row 11999"]


def test_an_empty_result(driver: Driver) -> None:
    assert driver.run("ROWS 0") == []


def test_a_statement_without_rows(driver: Driver) -> None:
    assert driver.run("INSERT") == []


def test_an_error_has_its_condition_and_sqlstate_and_no_stack(driver: Driver) -> None:
    with pytest.raises(StatementFailed) as raised:
        driver.run("SELEKT 1")
    assert "[PARSE_SYNTAX_ERROR.TEST] Syntax error at or near" in str(raised.value)
    assert "42601" in str(raised.value)
    assert ".java:" not in str(raised.value) and "Traceback" not in str(raised.value)
    assert driver.run("SELECT 1") == [["1"]]


def test_a_statement_with_a_semicolon(driver: Driver) -> None:
    assert driver.run("SELECT 1;") == [["1"]]
