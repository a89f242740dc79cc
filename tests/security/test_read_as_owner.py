"""Views and functions, which are read as their owner, with rows from Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("owners") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/t")
    found = People(lake, spark_driver)
    for text in (
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, CREATE FUNCTION, CREATE TABLE ON SCHEMA shop TO ann",
        "GRANT USE SCHEMA, CREATE TABLE ON SCHEMA shop TO eve",
        "GRANT SELECT ON shop.t TO ann",
        "CREATE GROUP staff WITH USER eve",
    ):
        found.rows("root", text)
    for text in (
        "CREATE FUNCTION shop.twice(x BIGINT COMMENT 'n') RETURNS BIGINT RETURN x + x -- and no more",
        "CREATE FUNCTION shop.four(y BIGINT, z INT DEFAULT 1) RETURNS BIGINT RETURN shop.twice(shop.twice(four.y)) * z",
        "CREATE FUNCTION shop.part(s STRUCT<a: INT>) RETURNS INT RETURN s.a",
        "CREATE FUNCTION shop.alias_of(x BIGINT) RETURNS BIGINT RETURN shop.twice(x)",
        "CREATE VIEW shop.v AS SELECT shop.four(id) AS f, is_member('staff') AS m, current_user() AS u FROM shop.t",
        "CREATE TABLE shop.mine (id BIGINT)",
        "INSERT INTO shop.mine SELECT shop.twice(id) FROM shop.t LIMIT 1",
        "GRANT SELECT ON shop.v TO eve",
        "GRANT EXECUTE ON FUNCTION shop.four TO eve",
    ):
        found.rows("ann", text)
    yield found
    found.close()


CALLS = [
    ("SELECT shop.twice(3), shop.four(1), shop.four(1, 10), shop.alias_of(2)", [(6, 4, 40, 4)]),
    ("SELECT shop.twice(id -- a comment\n), shop.twice(t.id), shop.twice(shop.t.id) FROM shop.t LIMIT 1", [(2, 2, 2)]),
    ("SELECT shop.four(max(id)) FROM shop.t GROUP BY shop.twice(id) HAVING shop.twice(count(*)) = 4", [(4,)]),
    ("SELECT shop.twice((SELECT max(u.id) FROM shop.t u)) + 1", [(3,)]),
    ("SELECT transform(array(1, 2), x -> shop.twice(x))", [([2, 4],)]),
    ("SELECT shop.part(named_struct('a', 7)), `spark_catalog`.`SHOP`.`Twice`('4')", [(7, 8)]),
    ("WITH c AS (SELECT shop.twice(id) AS n FROM shop.t) SELECT sum(shop.twice(n)) FROM c", [(8,)]),
    ("FROM shop.t |> SELECT shop.twice(id) AS n |> WHERE shop.twice(n) = 4 |> LIMIT 1", [(2,)]),
    ("SELECT is_account_group_member('staff'), is_member('account users')", [(False, True)]),
    ("SELECT shop.twice(x) OVER_ FROM VALUES (1) AS t(x)", [(2,)]),
]


@pytest.mark.parametrize(("text", "expected"), CALLS)
def test_calls_are_inlined(people: People, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert people.rows("ann", text) == expected


def test_a_column_is_called_as_its_function(people: People) -> None:
    assert people.table("ann", "SELECT shop.twice(1), 1 + shop.twice(1) AS n").schema.names == ["shop.twice", "n"]


def test_functions_in_changes_of_rows(people: People) -> None:
    people.rows("ann", "UPDATE shop.mine SET id = shop.twice(id) WHERE shop.twice(id) = 4")
    assert people.rows("ann", "SELECT * FROM shop.mine") == [(4,)]
    people.rows(
        "ann",
        "MERGE INTO shop.mine USING (SELECT shop.twice(2) AS k) s ON shop.twice(mine.id) = shop.twice(s.k) "
        "WHEN MATCHED THEN UPDATE SET id = shop.four(s.k)",
    )
    assert people.rows("ann", "SELECT * FROM shop.mine") == [(16,)]
    people.rows("ann", "DELETE FROM shop.mine WHERE shop.twice(id) = 32 AND id IN (SELECT 16 AS n)")
    assert people.rows("ann", "SELECT * FROM shop.mine") == []


COLUMN = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
BODY = "INVALID_SQL_FUNCTION_BODY"
REFUSED = [
    ("ann", "SELECT shop.twice(rand())", "NON_DETERMINISTIC_ARGUMENT"),
    ("ann", "SELECT shop.twice()", "WRONG_NUM_ARGS"),
    ("ann", "SELECT shop.four(1, 2, 3)", "WRONG_NUM_ARGS"),
    ("ann", "SELECT is_member(current_user())", "NON_FOLDABLE_ARGUMENT"),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN (SELECT y)", BODY),
    (
        "ann",
        "CREATE FUNCTION shop.f() RETURNS BIGINT RETURN (SELECT max(id) FROM shop.t WHERE ssn = current_user)",
        BODY,
    ),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN (SELECT max(y) FROM shop.t)", COLUMN),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN y", BODY),
    (
        "ann",
        "CREATE FUNCTION shop.f(x ARRAY<INT>) RETURNS INT RETURN size(filter(x, e -> e > 1))",
        "INVALID_SQL_FUNCTION_BODY",
    ),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN max(x)", "MISSING_GROUP_BY"),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN x, x", BODY),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN nosuch(x)", "UNRESOLVED_ROUTINE"),
    ("ann", "CREATE FUNCTION shop.f(x INT) RETURNS INT RETURN reflect('a', 'b')", "UNSUPPORTED_FUNCTION"),
    ("ann", "CREATE FUNCTION shop.current_user() RETURNS STRING RETURN 'ann'", "UNSUPPORTED_CLAUSE"),
    ("ann", "CREATE FUNCTION shop.is_member(g STRING) RETURNS BOOLEAN RETURN TRUE", "UNSUPPORTED_CLAUSE"),
    ("ann", "CREATE OR REPLACE FUNCTION shop.twice(x BIGINT) RETURNS BIGINT RETURN shop.four(x)", "FUNCTION_TOO_DEEP"),
    ("ann", "CREATE FUNCTION shop.twice(x INT) RETURNS INT RETURN x", "ROUTINE_ALREADY_EXISTS"),
    ("ann", "DROP FUNCTION shop.nothing", "ROUTINE_NOT_FOUND"),
    ("eve", "SELECT shop.twice(1)", "UNRESOLVED_ROUTINE"),
    ("eve", "SELECT shop.nothing(1)", "UNRESOLVED_ROUTINE"),
    ("eve", "CREATE FUNCTION shop.f() RETURNS INT RETURN 1", "INSUFFICIENT_PERMISSIONS"),
    ("eve", "DROP FUNCTION shop.four", "INSUFFICIENT_PERMISSIONS"),
    ("eve", "ALTER FUNCTION shop.four OWNER TO eve", "INSUFFICIENT_PERMISSIONS"),
    ("eve", "CREATE VIEW shop.w AS SELECT shop.twice(1) AS x", "UNRESOLVED_ROUTINE"),
]


@pytest.mark.parametrize(("who", "text", "condition"), REFUSED)
def test_refused(people: People, who: str, text: str, condition: str) -> None:
    """Probes 51 to 53."""
    assert people.refuse(who, text).condition == condition


def test_a_view_and_its_functions_are_read_as_their_owner(people: People) -> None:
    """Probes 3, 16 and 18: but who reads it is who reads it."""
    people.rows("eve", "USE shop")
    people.rows("eve", "CREATE TEMP VIEW t AS SELECT 42 AS id")
    assert set(people.rows("eve", "SELECT * FROM shop.v")) == {(4, True, "eve")}
    assert set(people.rows("ann", "SELECT * FROM shop.v")) == {(4, False, "ann")}
    assert people.rows("eve", "SELECT shop.four(1)") == [(4,)]
    people.rows("eve", "CREATE VIEW shop.over AS SELECT f FROM shop.v")
    people.rows("eve", "CREATE TEMP VIEW own AS SELECT f FROM shop.v")
    assert people.rows("eve", "SELECT o.f FROM shop.over o JOIN own USING (f) LIMIT 1") == [(4,)]
    people.rows("root", "REVOKE SELECT ON shop.t FROM ann")
    for text in ("SELECT * FROM shop.v", "SELECT * FROM shop.over", "SELECT * FROM own"):
        error = people.refuse("eve", text)
        assert error.condition == "INSUFFICIENT_PERMISSIONS_UNDERLYING_SECURABLES"
        assert "shop.t" not in error.full_message
    assert people.refuse("ann", "SELECT * FROM shop.v").condition == "TABLE_OR_VIEW_NOT_FOUND"
    people.rows("root", "GRANT SELECT ON shop.t TO ann")
    people.rows("ann", "REVOKE SELECT ON shop.v FROM eve")
    assert people.refuse("eve", "SELECT * FROM own").sqlstate == "42P01"


def test_information_schema_has_what_is_visible(people: People) -> None:
    """Probe 39."""
    tables = "SELECT table_name, storage_path FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1"
    assert "t" not in [name for name, _ in people.rows("eve", tables)]
    assert [path for _, path in people.rows("ann", tables) if path] != []
    routines = "SELECT routine_name, grantee, privilege_type, inherited_from FROM information_schema.routine_privileges"
    assert people.rows("eve", routines) == [("four", "eve", "EXECUTE", "NONE")]
    schemas = "SELECT schema_name, grantee, privilege_type FROM information_schema.schema_privileges ORDER BY ALL"
    assert people.rows("eve", schemas) == [("shop", "eve", "CREATE_TABLE"), ("shop", "eve", "USE_SCHEMA")]
    catalogs = "SELECT grantee, privilege_type FROM system.information_schema.catalog_privileges"
    assert people.rows("eve", catalogs) == [("account users", "USE_CATALOG")]
    views = "SELECT table_name, view_definition IS NULL FROM information_schema.views WHERE table_name = 'over'"
    assert people.rows("eve", views) == [("over", False)]
    assert ("shop", "t") not in people.rows("eve", "SELECT table_schema, table_name FROM information_schema.columns")


def test_functions_are_listed_and_described(people: People) -> None:
    assert people.rows("eve", "SHOW USER FUNCTIONS IN shop") == [("spark_catalog.shop.four",)]
    routines = "SELECT routine_name, data_type, routine_definition IS NULL FROM information_schema.routines"
    assert people.rows("eve", routines) == [("four", "BIGINT", True)]
    parameters = "SELECT parameter_name, data_type, parameter_default FROM information_schema.parameters"
    assert people.rows("eve", parameters) == [("y", "BIGINT", None), ("z", "INT", "1")]
    reported = people.rows("ann", "DESCRIBE FUNCTION EXTENDED shop.four")
    assert ("Body:      shop.twice(shop.twice(four.y)) * z",) in reported
    assert not any("twice" in line for (line,) in people.rows("eve", "DESCRIBE FUNCTION EXTENDED shop.four"))


def test_error_of_a_changed_type_below_a_view_hides_the_table(people: People) -> None:
    for text in (
        "CREATE TABLE shop.typed (a INT)",
        "CREATE VIEW shop.bound WITH SCHEMA BINDING AS SELECT a FROM shop.typed",
        "CREATE VIEW shop.compensated AS SELECT a FROM shop.typed",
        "GRANT SELECT ON VIEW shop.bound TO eve",
        "GRANT SELECT ON VIEW shop.compensated TO eve",
        "CREATE OR REPLACE TABLE shop.typed (a STRING)",
        "INSERT INTO shop.typed VALUES ('secret')",
    ):
        people.rows("ann", text)
    for view, condition, word in (
        ("bound", "CANNOT_UP_CAST_DATATYPE", "STRING"),
        ("compensated", "CAST_INVALID_INPUT", "secret"),
    ):
        for who in ("ann", "eve"):
            error = people.refuse(who, f"SELECT a FROM shop.{view}")
            assert error.condition == condition
            assert (word in f"{error}") == (who == "ann")
