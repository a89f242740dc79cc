"""The places of reported names, keys and values in a statement's text."""

from __future__ import annotations

import pytest

from catalog.conditions import (
    CatalogNotFound,
    ColumnNotFound,
    SchemaNotFound,
    SparkFailure,
    TableNotFound,
)
from catalog.errors import SqlError
from catalog.names import SchemaName
from engine.sql.name_places import name_position
from engine.sql.query.source_text import slice_text

CURRENT = SchemaName("spark_catalog", "shop")


def text_at_place(error: SqlError, text: str) -> str | None:
    """Returns the rest of the line from the place."""
    position = name_position(error, text, CURRENT)
    return None if position is None else text.split("\n")[position.line - 1][position.column - 1 :]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("SELECT * FROM nope", "nope"),
        ("SELECT * FROM SHOP.Nope AS n", "SHOP.Nope AS n"),
        ("SELECT * FROM a JOIN `spark_catalog`.shop . `nope` ON TRUE", "`spark_catalog`.shop . `nope` ON TRUE"),
        ("SELECT nope, 'nope'\nFROM nope", "nope"),
        ("SELECT nope.id FROM a, nope", "nope"),
        ("SELECT nope.id FROM nope", "nope"),
        ("SELECT '🙂', 1 FROM nope", "nope"),
        ("SELECT * FROM IDENTIFIER('shop.nope')", "'shop.nope')"),
        ("SELECT * FROM other.nope", None),
        ("SELECT * FROM v -- nope", None),
        ("nope", None),
        (
            "MERGE INTO nope USING b ON nope.id = b.id WHEN MATCHED THEN DELETE",
            "nope USING b ON nope.id = b.id WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_place_of_a_missing_table_is_where_its_name_resolves_to_it(text: str, rest: str | None) -> None:
    assert text_at_place(TableNotFound("`spark_catalog`.`shop`.`nope`"), text) == rest


@pytest.mark.parametrize(
    ("error", "text", "rest"),
    [
        (SchemaNotFound("`spark_catalog`.`nope`"), "CREATE TABLE nope.t (id INT)", "nope.t (id INT)"),
        (SchemaNotFound("`spark_catalog`.`nope`"), "USE nope", "nope"),
        (CatalogNotFound("`cat`"), "SELECT * FROM cat.nope.t", "cat.nope.t"),
        (TableNotFound("`spark_catalog`.`shop`.`a``b`"), "DROP TABLE `a``b`", "`a``b`"),
        (ColumnNotFound("statu", "s"), "UPDATE t SET statu = 'statu'", "statu = 'statu'"),
        (ColumnNotFound("statu", "s"), "UPDATE t SET x.statu = 1", "x.statu = 1"),
        (ColumnNotFound("statu", "s"), "UPDATE s SET statu = 2 WHERE statu = 1", None),
        (SparkFailure("X", "42703", "`statu` is unknown"), "SELECT statu", None),
        (TableNotFound("`spark_catalog`.`shop`.`t`"), "SELECT 'not closed FROM t", None),
    ],
)
def test_place_is_known_if_it_is_unambiguous(error: SqlError, text: str, rest: str | None) -> None:
    assert text_at_place(error, text) == rest


def test_place_in_a_part_of_a_script_is_the_place_in_the_script() -> None:
    script = "BEGIN\n  SELECT * FROM nope;\nEND"
    position = name_position(TableNotFound("`spark_catalog`.`shop`.`nope`"), slice_text(script, 8, 26), CURRENT)
    assert position is not None and (position.line, position.column) == (2, 17)


def test_shared_error_stays_without_the_position_of_one_statement() -> None:
    error = TableNotFound("`spark_catalog`.`shop`.`nope`", "Did you mean x?")
    position = name_position(error, "SELECT * FROM nope", CURRENT)
    assert position is not None
    placed = error.at(position)
    assert error.position is None and type(placed) is TableNotFound and placed.hint == error.hint
    assert str(placed).startswith(
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `spark_catalog`.`shop`.`nope` cannot be found (line 1, column 15)."
        " SQLSTATE: 42P01\nSELECT * FROM nope\n              ^\n"
    )
