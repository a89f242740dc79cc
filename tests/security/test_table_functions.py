"""Table functions are read as their owner, with the caller's row filters and masks, and reveal no other rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("functions") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/unused")
    found = People(lake, spark_driver)
    for who, text in (
        ("root", "GRANT USE CATALOG ON CATALOG TO `account users`"),
        ("root", "GRANT USE SCHEMA ON SCHEMA shop TO `account users`"),
        ("root", "GRANT CREATE FUNCTION, CREATE TABLE ON SCHEMA shop TO ann"),
        ("root", "GRANT CREATE FUNCTION, CREATE TABLE ON SCHEMA shop TO mal"),
        ("ann", "CREATE TABLE shop.t AS SELECT id, id AS same, id % 2 AS k, 'v' || id AS v FROM range(6)"),
        ("ann", "CREATE TABLE shop.keys AS SELECT 0L AS k"),
        ("ann", "GRANT SELECT ON shop.keys TO eve"),
        (
            "ann",
            "CREATE FUNCTION shop.even(x INT) RETURNS TABLE (id BIGINT, v STRING)"
            " RETURN SELECT id, v FROM shop.t WHERE k = x AND id <> 4 AND id IN (SELECT explode(sequence(0, 9)))",
        ),
        ("ann", "CREATE FUNCTION shop.closed(x INT) RETURNS TABLE RETURN SELECT id FROM shop.t"),
        (
            "ann",
            "CREATE FUNCTION shop.placed() RETURNS TABLE RETURN SELECT id, _metadata.file_path AS p FROM shop.t",
        ),
        ("ann", "GRANT EXECUTE ON FUNCTION shop.even TO eve"),
        ("ann", "GRANT EXECUTE ON FUNCTION shop.placed TO eve"),
        ("ann", "CREATE FUNCTION shop.mine(id BIGINT) RETURNS BOOLEAN RETURN id < 2 OR current_user() <> 'eve'"),
        ("ann", "CREATE FUNCTION shop.masked(v STRING) RETURNS STRING RETURN if(current_user() = 'eve', '*', v)"),
        ("ann", "CREATE TABLE shop.policed AS SELECT id, v FROM shop.t"),
        ("ann", "ALTER TABLE shop.policed SET ROW FILTER shop.mine ON (id)"),
        ("ann", "ALTER TABLE shop.policed ALTER COLUMN v SET MASK shop.masked"),
        ("ann", "CREATE FUNCTION shop.of_policed(x INT) RETURNS TABLE RETURN SELECT * FROM shop.policed WHERE id <= x"),
        ("ann", "GRANT EXECUTE ON FUNCTION shop.of_policed TO eve"),
    ):
        found.rows(who, text)
    yield found
    found.close()


def test_caller_requires_only_execute_on_function(people: People) -> None:
    for who in ("ann", "eve"):
        assert people.rows(who, "SELECT * FROM shop.even(0) ORDER BY id") == [(0, "v0"), (2, "v2")]
    assert people.refuse("eve", "SELECT * FROM shop.t").sqlstate == "42P01"
    assert people.rows("ann", "SELECT count(*) FROM shop.closed(0)") == [(6,)]
    assert people.refuse("eve", "SELECT * FROM shop.closed(0)").sqlstate == "42883"
    people.rows("ann", "GRANT EXECUTE ON FUNCTION shop.closed TO eve")
    assert people.rows("eve", "SELECT count(*) FROM shop.closed(0)") == [(6,)]
    people.rows("ann", "REVOKE EXECUTE ON FUNCTION shop.closed FROM eve")
    assert people.refuse("eve", "SELECT * FROM shop.keys, LATERAL shop.closed(k)").sqlstate == "42883"


def test_owner_has_to_hold_the_privileges_at_each_call(people: People) -> None:
    people.rows("ann", "GRANT SELECT ON shop.t TO mal")
    people.rows("mal", "CREATE FUNCTION shop.of_mal() RETURNS TABLE RETURN SELECT id FROM shop.t")
    people.rows("mal", "GRANT EXECUTE ON FUNCTION shop.of_mal TO eve")
    assert len(people.rows("eve", "SELECT * FROM shop.of_mal()")) == 6
    people.rows("ann", "REVOKE SELECT ON shop.t FROM mal")
    error = people.refuse("eve", "SELECT * FROM shop.of_mal()")
    assert error.sqlstate == "42501" and "shop`.`t`" not in error.full_message


def test_row_filters_and_masks_are_those_of_the_caller(people: People) -> None:
    text = "SELECT id, v FROM shop.of_policed(3) ORDER BY id"
    assert people.rows("ann", text) == [(n, f"v{n}") for n in range(4)]
    assert people.rows("eve", text) == [(0, "*"), (1, "*")]
    lateral = "SELECT f.id, f.v FROM shop.keys, LATERAL shop.of_policed(k + 3) AS f ORDER BY id"
    assert people.rows("ann", lateral) == [(n, f"v{n}") for n in range(4)]
    assert people.rows("eve", lateral) == [(0, "*"), (1, "*")]


LEFT_OUT = (
    "SELECT id FROM shop.even(0) WHERE 1 / (id - 3) < 9 ORDER BY id",
    "SELECT f.id FROM shop.keys, LATERAL shop.even(keys.k) AS f WHERE 1 / (f.id - 3) < 9 ORDER BY f.id",
    "SELECT f.id FROM shop.keys JOIN LATERAL shop.even(keys.k) AS f ON 1 / (f.id - 3) < 9 ORDER BY f.id",
    "SELECT f.id FROM shop.keys JOIN LATERAL shop.even(keys.k) AS f(id, v) WHERE 1 / (f.id - 3) < 9 ORDER BY f.id",
    "SELECT f.id FROM shop.keys LEFT JOIN LATERAL shop.even(keys.k) AS f WHERE 1 / (f.id - 3) < 9 ORDER BY f.id",
    "SELECT id FROM shop.even(0) WHERE (SELECT max(id) FROM shop.even(0) WHERE 1 / (id - 3) < 9) = id",
)


@pytest.mark.parametrize("text", LEFT_OUT)
def test_conditions_of_the_caller_see_no_row_that_the_function_leaves_out(people: People, text: str) -> None:
    """The owner, who may read them, has Spark's own order, in which the condition comes first and fails."""
    assert people.refuse("ann", text).condition == "DIVIDE_BY_ZERO"
    assert people.rows("eve", text) in ([(0,), (2,)], [(2,)])


def test_condition_of_an_outer_join_is_rejected_for_hidden_tables(people: People) -> None:
    text = "SELECT f.id FROM shop.keys LEFT JOIN LATERAL shop.even(keys.k) AS f ON 1 / (f.id - 20) < 9 ORDER BY f.id"
    assert people.refuse("eve", text).condition == "UNSUPPORTED_CLAUSE"
    assert people.rows("ann", text) == [(0,), (2,)]


def test_columns_made_of_files_are_null_for_who_may_not_read_the_table(people: People) -> None:
    text = "SELECT DISTINCT p IS NULL, input_file_name() = '' FROM shop.placed()"
    assert people.rows("eve", text) == [(True, True)]
    assert people.rows("ann", text) == [(False, False)]
    lateral = "SELECT DISTINCT p IS NULL FROM shop.keys, LATERAL shop.placed()"
    assert people.rows("eve", lateral) == [(True,)]


def test_explain_and_texts_of_bodies_are_for_who_may_read_the_tables(people: People) -> None:
    text = "EXPLAIN SELECT * FROM shop.even(0)"
    assert people.rows("ann", text)
    assert people.refuse("eve", text).sqlstate == "42501"
    body = [row for row in people.rows("eve", "DESCRIBE FUNCTION EXTENDED shop.even") if row[0].startswith("Body")]
    assert body == []
    assert [row for row in people.rows("ann", "DESCRIBE FUNCTION EXTENDED shop.even") if row[0].startswith("Body")]
