"""Executed plans do not reveal row filters, column masks, or the tables of a view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    """Yields sessions where eve may read a view and protected tables, and bob the view's table as well."""
    folder = tmp_path_factory.mktemp("plans") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/t")
    found = People(lake, spark_driver)
    for text in (
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT ALL PRIVILEGES ON CATALOG TO root",
        "GRANT SELECT ON shop.t TO bob",
        "CREATE VIEW shop.v AS SELECT id, ssn FROM shop.t WHERE id < 654321",
        "GRANT SELECT ON shop.v TO `account users`",
        "CREATE FUNCTION shop.kept(id INT) RETURNS BOOLEAN RETURN id < 654321",
        "CREATE FUNCTION shop.masked(s STRING) RETURNS STRING RETURN concat('654321', length(s))",
        "CREATE TABLE shop.filtered (id INT, s STRING)",
        "CREATE TABLE shop.hashed (id INT, s STRING)",
        "INSERT INTO shop.filtered VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO shop.hashed VALUES (1, 'a'), (2, 'b')",
        "ALTER TABLE shop.filtered SET ROW FILTER shop.kept ON (id)",
        "ALTER TABLE shop.hashed ALTER COLUMN s SET MASK shop.masked",
        "GRANT SELECT ON shop.filtered TO `account users`",
        "GRANT SELECT ON shop.hashed TO `account users`",
        "CREATE FUNCTION shop.largest() RETURNS INT RETURN (SELECT max(id) FROM shop.t WHERE id < 654321)",
        "GRANT EXECUTE ON FUNCTION shop.largest TO `account users`",
    ):
        found.rows("root", text)
    yield found
    found.close()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT max(ssn), count(DISTINCT id + 1) FROM shop.v",
        "SELECT count(DISTINCT id + 1), shop.largest() FROM VALUES (1) AS x(id)",
    ],
)
def test_plan_of_a_view_or_function_is_shown_only_with_select_on_its_tables(people: People, text: str) -> None:
    assert people.plans("eve", text) == ()
    shown = people.plans("bob", text)
    assert "654321" in str(shown)


@pytest.mark.parametrize("table", ["filtered", "hashed"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT s, count(DISTINCT id + 1) FROM shop.{} GROUP BY s",
        "SELECT count(DISTINCT t.id + 2) FROM shop.v AS t JOIN shop.{} AS f ON t.id = f.id",
        "BEGIN SELECT s, count(DISTINCT id + 3) FROM shop.{} GROUP BY s; END",
    ],
)
def test_plan_over_a_protected_table_is_hidden(people: People, table: str, text: str) -> None:
    for who in ("eve", "bob"):
        assert people.plans(who, text.format(table)) == ()


def test_plan_of_a_changed_protected_table_is_hidden_from_its_owner(people: People) -> None:
    assert people.plans("root", "UPDATE shop.filtered SET s = 'c' WHERE id = 1") == ()
