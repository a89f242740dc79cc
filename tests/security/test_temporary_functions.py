"""Temporary functions: read with their session's privileges, and never instead of a persistent function."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("temporary") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    for name in ("t", "filtered", "unfiltered"):
        lake.table(f"shop/{name}")
    found = People(lake, spark_driver)
    for who, text in (
        ("root", "GRANT USE CATALOG ON CATALOG TO `account users`"),
        ("root", "GRANT USE SCHEMA ON SCHEMA shop TO `account users`"),
        ("root", "GRANT CREATE FUNCTION, CREATE TABLE ON SCHEMA shop TO ann"),
        ("root", "GRANT SELECT ON shop.t TO ann"),
        ("root", "GRANT SELECT ON shop.unfiltered TO root"),
        ("root", "GRANT SELECT ON shop.filtered TO eve"),
        ("root", "CREATE FUNCTION shop.hides(id BIGINT) RETURNS BOOLEAN RETURN false"),
        ("root", "ALTER TABLE shop.filtered SET ROW FILTER shop.hides ON (id)"),
        ("ann", "CREATE FUNCTION shop.secret() RETURN (SELECT count(*) FROM shop.t)"),
        ("ann", "USE shop"),
        ("ann", "CREATE FUNCTION shop.asked() RETURN secret()"),
        ("ann", "GRANT EXECUTE ON FUNCTION shop.asked TO eve"),
    ):
        found.rows(who, text)
    yield found
    found.close()


def test_body_is_read_with_the_rights_of_the_session(people: People) -> None:
    text = "CREATE OR REPLACE TEMPORARY FUNCTION counted() RETURN (SELECT count(*) FROM shop.t)"
    people.rows("ann", text)
    assert people.rows("ann", "SELECT counted()") == [(2,)]
    assert people.refuse("eve", text).sqlstate == "42P01"
    people.rows("root", "GRANT SELECT ON shop.t TO eve")
    people.rows("eve", text)
    assert people.rows("eve", "SELECT counted()") == [(2,)]
    people.rows("root", "REVOKE SELECT ON shop.t FROM eve")
    assert people.refuse("eve", "SELECT counted()").sqlstate == "42P01"


def test_called_functions_require_execute(people: People) -> None:
    people.rows("eve", "CREATE OR REPLACE TEMPORARY FUNCTION calling() RETURN shop.asked()")
    assert people.rows("eve", "SELECT calling()") == [(2,)]
    assert people.refuse("eve", "CREATE TEMPORARY FUNCTION direct() RETURN shop.secret()").sqlstate == "42883"


def test_default_of_a_variable_requires_execute(people: People) -> None:
    people.rows("ann", "CREATE FUNCTION shop.plain(x INT) RETURNS INT RETURN x + 1")
    for text in (
        "DECLARE OR REPLACE v INT DEFAULT shop.plain(1)",
        "BEGIN DECLARE x INT DEFAULT shop.plain(1); SELECT x; END",
    ):
        people.rows("ann", "REVOKE EXECUTE ON FUNCTION shop.plain FROM eve")
        people.rows("ann", text)
        assert people.refuse("eve", text).sqlstate == "42883"
        people.rows("ann", "GRANT EXECUTE ON FUNCTION shop.plain TO eve")
        people.rows("eve", text)
    assert people.rows("eve", "SELECT v") == [(2,)]


def test_temporary_function_replaces_none_of_a_policy_or_of_another_body(people: People) -> None:
    for name in ("hides(id BIGINT) RETURNS BOOLEAN RETURN true", "secret() RETURNS BIGINT RETURN 77"):
        people.rows("eve", f"CREATE OR REPLACE TEMPORARY FUNCTION {name}")
    assert people.rows("eve", "SELECT hides(1), secret()") == [(True, 77)]
    assert people.rows("eve", "SELECT * FROM shop.filtered") == []
    assert people.rows("eve", "SELECT shop.asked()") == [(2,)]


def test_policy_cannot_name_a_temporary_function(people: People) -> None:
    people.rows("root", "CREATE OR REPLACE TEMPORARY FUNCTION shows(id BIGINT) RETURNS BOOLEAN RETURN true")
    for name in ("shows", "session.shows"):
        error = people.refuse("root", f"ALTER TABLE shop.unfiltered SET ROW FILTER {name} ON (id)")
        assert error.sqlstate == "42883", error
    people.rows("root", "CREATE OR REPLACE TEMPORARY FUNCTION hides(id BIGINT) RETURNS BOOLEAN RETURN true")
    people.rows("root", "USE shop")
    assert len(people.rows("root", "SELECT * FROM shop.unfiltered")) == 2
    people.rows("root", "ALTER TABLE shop.unfiltered SET ROW FILTER hides ON (id)")  # the persistent one
    assert people.rows("root", "SELECT * FROM shop.unfiltered") == []
