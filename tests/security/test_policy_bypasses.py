"""Bypasses around policies and privileges, each of them closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.catalog import Catalog
from engine.binding.binder import Binder
from engine.spark.file_lists import DriverCallbacks
from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("ways around") / "lake"
    folder.mkdir()
    return str(folder)


@pytest.fixture(scope="module")
def people(lake: str, spark_driver: SparkDriver) -> Iterator[People]:
    """Yields sessions where ann may see all, and eve tenant a's rows."""
    found = People(GuardedLake(Path(lake)), spark_driver)
    do(
        found,
        "root",
        "CREATE SCHEMA shop",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO `account users`",
    )
    do(
        found,
        "ann",
        "CREATE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a' OR current_user() = 'ann'",
        "CREATE FUNCTION shop.masked(ssn STRING) RETURNS STRING RETURN "
        "CASE WHEN current_user() = 'ann' THEN ssn ELSE '***' END",
    )
    yield found
    found.close()


def do(people: People, who: str, *texts: str) -> None:
    for text in texts:
        people.rows(who, text)


def condition(people: People, who: str, text: str) -> str:
    return people.refuse(who, text).condition


def test_a_foreign_key_does_not_name_a_hidden_table(people: People) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.parent_hidden (id INT PRIMARY KEY)",
        "CREATE TABLE shop.child (id INT PRIMARY KEY, "
        "CONSTRAINT fk FOREIGN KEY (id) REFERENCES shop.parent_hidden NOT ENFORCED)",
        "GRANT SELECT ON shop.child TO eve",
    )
    views = ("constraint_table_usage", "constraint_column_usage", "key_column_usage", "referential_constraints")
    request = [f"SELECT to_json(struct(*)) FROM information_schema.{view}" for view in (*views, "table_constraints")]
    request += ["SHOW TBLPROPERTIES shop.child", "DESCRIBE DETAIL shop.child", "SHOW CREATE TABLE shop.child"]
    request += ["DESCRIBE EXTENDED shop.child", "DESCRIBE EXTENDED shop.child AS JSON"]
    request += ["SHOW FOREIGN KEYS IN CATALOG spark_catalog IN SCHEMA shop IN TABLE child"]
    reported = {who: [str(people.rows(who, text)) for text in request] for who in ("ann", "eve")}
    assert all("fk" in text for text in reported["ann"])
    assert not [text for text in reported["eve"] if "fk" in text or "hidden" in text]
    assert "child" in reported["eve"][0]


def test_a_column_of_a_policy_stays_by_the_path_too(people: People, lake: str) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.p (tenant STRING, ssn STRING, tagged STRING) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')",
        "INSERT INTO shop.p VALUES ('a', '111', 'x')",
        "ALTER TABLE shop.p ALTER COLUMN ssn SET MASK shop.masked",
        "ALTER TABLE shop.p ALTER COLUMN tagged SET TAGS ('kind' = 'x')",
        "GRANT SELECT, MODIFY ON shop.p TO eve",
    )
    for change in ("RENAME COLUMN ssn TO x", "RENAME COLUMN tagged TO x", "DROP COLUMN ssn"):
        for table in ("shop.p", f"delta.`{lake}/shop/p`"):
            assert condition(people, "eve", f"ALTER TABLE {table} {change}") == "COLUMN_USED_BY_POLICY"
    assert people.rows("eve", "SELECT * FROM shop.p") == [("a", "***", "x")]


@pytest.fixture(scope="module")
def payroll(people: People) -> None:
    """Creates a view `mv` over a filtered table `m`, which a policy on `u` and eve read."""
    do(
        people,
        "ann",
        "CREATE TABLE shop.m (tenant STRING, who STRING, pay INT)",
        "INSERT INTO shop.m VALUES ('a', 'eve', 10), ('b', 'bob', 20)",
        "ALTER TABLE shop.m SET ROW FILTER shop.mine ON (tenant)",
        "CREATE VIEW shop.mv AS SELECT * FROM shop.m",
        "GRANT SELECT ON shop.mv TO eve",
        "CREATE VIEW shop.secret_view AS SELECT * FROM shop.mv",
        "CREATE FUNCTION shop.mapped(tenant STRING) RETURNS BOOLEAN RETURN "
        "EXISTS (SELECT 1 FROM shop.mv WHERE mv.tenant = mapped.tenant AND mv.who IN (current_user(), 'bob'))",
        "CREATE TABLE shop.u (tenant STRING, k INT)",
        "INSERT INTO shop.u VALUES ('a', 1), ('b', 2), ('c', 3)",
        "ALTER TABLE shop.u SET ROW FILTER shop.mapped ON (tenant)",
        "GRANT SELECT, MODIFY ON shop.u TO eve",
    )


def test_a_view_of_a_policy_is_not_the_readers(people: People, payroll: None) -> None:
    assert people.rows("eve", "SELECT u.k, v.pay FROM shop.u CROSS JOIN shop.mv v ORDER BY 1") == [(1, 10), (2, 10)]
    assert people.rows("eve", "SELECT u.k, v.pay FROM shop.mv v CROSS JOIN shop.u ORDER BY 1") == [(1, 10), (2, 10)]
    assert people.rows("eve", "SELECT (SELECT count(*) FROM shop.u), v.pay FROM shop.mv v") == [(2, 10)]


def test_rows_change_where_a_policy_reads_a_view(people: People, payroll: None) -> None:
    assert people.count("eve", "UPDATE shop.u SET k = (SELECT sum(pay) FROM shop.mv) WHERE k = 2") == 1
    merge = "MERGE INTO shop.u USING shop.mv s ON u.k = s.pay WHEN MATCHED THEN UPDATE SET k = u.k + s.pay"
    assert people.count("eve", merge) == 1
    assert people.count("eve", "DELETE FROM shop.u WHERE k > 1") == 1
    do(people, "ann", "ALTER TABLE shop.u DROP ROW FILTER")
    assert people.rows("ann", "SELECT k FROM shop.u ORDER BY 1") == [(1,), (3,)]
    do(people, "ann", "ALTER TABLE shop.u SET ROW FILTER shop.mapped ON (tenant)")


BODIES = (
    "EXISTS (SELECT 1 FROM shop.map WHERE who = current_user() AND tenant = mapping.tenant)",
    "EXISTS (SELECT 1 FROM (SELECT who, tenant AS tenant FROM shop.map) WHERE tenant = mapping.tenant)",
    "EXISTS (SELECT 1 FROM shop.map NATURAL JOIN (SELECT 'a' AS tenant) x WHERE map.who = current_user())",
)


@pytest.mark.parametrize("body", BODIES)
def test_a_parameter_does_not_take_the_place_of_a_column(people: People, body: str) -> None:
    do(
        people,
        "ann",
        "CREATE OR REPLACE TABLE shop.map (who STRING, tenant STRING) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO shop.map VALUES ('eve', 'a')",
        f"CREATE OR REPLACE FUNCTION shop.mapping(tenant STRING) RETURNS BOOLEAN RETURN {body}",
        "CREATE OR REPLACE TABLE shop.by_map (tenant STRING, n INT)",
        "INSERT INTO shop.by_map VALUES ('a', 1)",
        "ALTER TABLE shop.by_map SET ROW FILTER shop.mapping ON (tenant)",
        "GRANT SELECT ON shop.by_map TO eve",
    )
    assert people.rows("eve", "SELECT n FROM shop.by_map") == [(1,)]
    do(people, "ann", "ALTER TABLE shop.map ADD COLUMNS (more INT)")
    if "NATURAL" not in body:
        assert people.rows("eve", "SELECT n FROM shop.by_map") == [(1,)]
    do(people, "ann", "ALTER TABLE shop.map RENAME COLUMN tenant TO customer")
    assert condition(people, "eve", "SELECT n FROM shop.by_map") == "ROW_COLUMN_ACCESS.POLICY_NOT_USABLE"
    assert condition(people, "ann", "SELECT shop.mapping('b')") == "INVALID_SQL_FUNCTION_BODY"


def test_a_new_column_does_not_take_the_place_of_a_parameter(people: People) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.map2 (who STRING, customer STRING)",
        "INSERT INTO shop.map2 VALUES ('eve', 'a')",
        "CREATE FUNCTION shop.mapping2(tenant STRING) RETURNS BOOLEAN RETURN "
        "EXISTS (SELECT 1 FROM shop.map2 WHERE customer = tenant)",
    )
    assert people.rows("ann", "SELECT shop.mapping2('a'), shop.mapping2('b')") == [(True, False)]
    do(people, "ann", "ALTER TABLE shop.map2 ADD COLUMNS (tenant STRING)")
    assert condition(people, "ann", "SELECT shop.mapping2('a')") == "INVALID_SQL_FUNCTION_BODY"


def test_the_changes_of_other_columns_are_not_read(people: People) -> None:
    """Policies are for the newest columns: one that was renamed since would be shown by its former name."""
    do(
        people,
        "ann",
        "CREATE TABLE shop.f (id INT, social STRING, other STRING) "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true, 'delta.columnMapping.mode' = 'name')",
        "INSERT INTO shop.f VALUES (1, '111-11', 'x')",
        "ALTER TABLE shop.f RENAME COLUMN social TO ssn",
        "INSERT INTO shop.f VALUES (2, '222-22', 'y')",
        "ALTER TABLE shop.f ALTER COLUMN ssn SET MASK shop.masked",
        "GRANT SELECT ON shop.f TO eve",
    )
    refused = "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"
    assert condition(people, "eve", "SELECT * FROM table_changes('shop.f', 0, 1)") == refused
    assert people.rows("eve", "SELECT ssn FROM table_changes('shop.f', 3)") == [("***",)]
    do(  # the masked column's name is another column's in the range
        people,
        "ann",
        "ALTER TABLE shop.f ALTER COLUMN ssn DROP MASK",
        "ALTER TABLE shop.f RENAME COLUMN ssn TO x",
        "ALTER TABLE shop.f RENAME COLUMN other TO ssn",
        "ALTER TABLE shop.f RENAME COLUMN x TO other",
        "ALTER TABLE shop.f ALTER COLUMN other SET MASK shop.masked",
    )
    assert condition(people, "eve", "SELECT * FROM table_changes('shop.f', 3, 3)") == refused


def test_reorg_with_a_condition_tells_of_hidden_rows(people: People) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.q (n INT, tenant STRING) PARTITIONED BY (tenant)",
        "INSERT INTO shop.q VALUES (1, 'a'), (2, 'hidden')",
        "ALTER TABLE shop.q SET ROW FILTER shop.mine ON (tenant)",
        "GRANT SELECT, MODIFY ON shop.q TO eve",
    )
    text = "REORG TABLE shop.q WHERE CAST(tenant AS INT) > 0 APPLY (PURGE)"
    assert condition(people, "eve", text) == "ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED"


REPLACED = (
    ("CREATE OR REPLACE VIEW shop.late AS SELECT 1 AS a", "CREATE VIEW shop.late AS SELECT 2 AS a", "shop.late"),
    (
        "CREATE OR REPLACE FUNCTION shop.late() RETURNS INT RETURN 1",
        "CREATE FUNCTION shop.late() RETURNS INT RETURN 2",
        "(SELECT shop.late() AS a)",
    ),
)


@pytest.mark.parametrize(("text", "others", "what"), REPLACED)
def test_table_created_concurrently_is_not_replaced(
    people: People, monkeypatch: pytest.MonkeyPatch, text: str, others: str, what: str
) -> None:
    change = Catalog._change

    def late(self: Catalog, *given: Any) -> Any:
        monkeypatch.setattr(Catalog, "_change", change)
        do(people, "ann", others)
        return change(self, *given)

    monkeypatch.setattr(Catalog, "_change", late)
    assert people.refuse("eve", text).sqlstate == "42501"
    assert people.rows("ann", f"SELECT a FROM {what}") == [(2,)]


def test_no_row_is_newer_than_the_policies(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.h (tenant STRING)",
        "INSERT INTO shop.h VALUES ('a')",
        "GRANT SELECT ON shop.h TO eve",
    )
    pin = Binder.pin

    def late(self: Binder, *given: Any) -> Any:
        monkeypatch.setattr(Binder, "pin", pin)
        do(people, "ann", "ALTER TABLE shop.h SET ROW FILTER shop.mine ON (tenant)", "INSERT INTO shop.h VALUES ('b')")
        return pin(self, *given)

    monkeypatch.setattr(Binder, "pin", late)
    assert people.rows("eve", "SELECT * FROM shop.h") == [("a",)]


@pytest.fixture(scope="module")
def views(people: People) -> None:
    """Creates `cv` and `cw` over tables that eve may not read, and a filtered table `b`."""
    do(
        people,
        "ann",
        "CREATE TABLE shop.c (tenant STRING, ssn STRING, n INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO shop.c VALUES ('a', '111', 1), ('b', 'ssn-of-b', 2)",
        "CREATE TABLE shop.cm (who STRING, tenant STRING)",
        "INSERT INTO shop.cm VALUES ('eve', 'a')",
        "CREATE VIEW shop.cv AS SELECT * FROM shop.c WHERE tenant IN "
        "(SELECT tenant FROM shop.cm WHERE who = current_user())",
        "CREATE VIEW shop.cw AS SELECT tenant, CAST(substr(ssn, 1, 2) AS INT) AS n FROM shop.c",
        "CREATE VIEW shop.cx AS SELECT n AS number FROM shop.c",
        "CREATE FUNCTION shop.most() RETURNS INT RETURN SELECT max(CAST(ssn AS INT)) FROM shop.c",
        "CREATE TABLE shop.b (code STRING)",
        "INSERT INTO shop.b VALUES ('7'), ('ssn-of-b')",
        "CREATE FUNCTION shop.big(c STRING) RETURNS BOOLEAN RETURN CAST(c AS INT) > 5",
        "ALTER TABLE shop.b SET ROW FILTER shop.big ON (code)",
        "GRANT EXECUTE ON FUNCTION shop.most TO eve",
        *(f"GRANT SELECT ON shop.{name} TO eve" for name in ("cv", "cw", "cx", "b")),
    )


OVER_VIEWS = (
    "SELECT * FROM shop.cv WHERE CAST(ssn AS INT) > 0",
    "SELECT ssn FROM shop.cv WHERE ssn > 0",
    "SELECT x FROM (SELECT CAST(ssn AS INT) AS x FROM shop.cv) WHERE x > 1",
    "SELECT count(*) FROM shop.cv JOIN VALUES (111) AS v(k) ON v.k = CAST(ssn AS INT)",
    "SELECT max((SELECT n FROM shop.cv WHERE ssn > 0))",
    "SELECT count(*) FROM VALUES (111) AS v(k) WHERE k IN (SELECT CAST(ssn AS INT) FROM shop.cv WHERE n > 0)",
)


@pytest.mark.parametrize("query", OVER_VIEWS)
def test_expression_does_not_fail_on_hidden_rows(people: People, views: None, query: str) -> None:
    assert len(people.rows("eve", query)) == 1


def test_conditions_that_cannot_fail_find_few_files(
    people: People, views: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE shop.days PARTITIONED BY (day) AS SELECT id AS n, date_add(DATE'2024-01-01', INT(id)) AS day "
        "FROM range(4)",
        "CREATE VIEW shop.all_days AS SELECT * FROM shop.days",
        "GRANT SELECT ON shop.all_days TO eve",
    )
    answer, found = DriverCallbacks.answer, list[int]()

    def counted(self: DriverCallbacks, query_text: dict[str, Any]) -> pa.Table:
        files: Any = answer(self, query_text)
        found.append(files.num_rows)
        return files

    monkeypatch.setattr(DriverCallbacks, "answer", counted)
    assert people.rows("eve", "SELECT n FROM shop.all_days WHERE day = '2024-01-03'") == [(2,)]
    assert set(found) == {1}


FAILING = (
    ("SELECT * FROM shop.b", "CAST_INVALID_INPUT"),
    ("SELECT * FROM shop.cw", "CAST_INVALID_INPUT"),
    ("SELECT * FROM shop.cw /* CAST(substr(ssn, 1, 2) AS INT) */ WHERE n > 1", "CAST_INVALID_INPUT"),
    ("SELECT shop.most()", "CAST_INVALID_INPUT"),
    ("DELETE FROM shop.b WHERE code = 'x'", "CAST_INVALID_INPUT"),
)


@pytest.mark.parametrize(("query", "expected"), FAILING)
def test_error_on_hidden_rows_shows_only_its_condition(people: People, views: None, query: str, expected: str) -> None:
    do(people, "ann", "GRANT MODIFY ON shop.b TO eve")
    error = people.refuse("eve", query)
    assert error.condition == expected
    assert "'ss'" not in error.full_message
    assert not any(part in error.full_message for part in ("ssn", "substr", "code", "CAST("))


def test_errors_in_own_text_are_reported(people: People, views: None) -> None:
    error = people.refuse("eve", "SELECT CAST('x' || tenant AS INT) FROM shop.cv")
    assert "'xa'" in str(error) and "CAST('x' || tenant AS INT)" in str(error)
    assert "`number`" in people.refuse("eve", "SELECT nosuch FROM shop.cx").full_message
    do(people, "ann", "ALTER TABLE shop.c RENAME COLUMN n TO k")
    error = people.refuse("eve", "SELECT * FROM shop.cx")
    assert error.condition.startswith("UNRESOLVED_COLUMN") and "ssn" not in error.full_message
    do(people, "ann", "ALTER TABLE shop.c RENAME COLUMN k TO n")


SETTINGS = (
    ("size(blocked) < 1", "spark.sql.ansi.enabled", "false"),
    ("NOT (at > TIMESTAMP_NTZ'2026-11-22 23:00:00')", "spark.sql.session.timeZone", "-12:00"),
    ("until < '2024-2-5'", "spark.sql.legacy.typeCoercion.datetimeToString.enabled", "true"),
)


@pytest.mark.parametrize(("body", "key", "value"), SETTINGS)
def test_settings_of_the_reader_do_not_change_a_policy(people: People, body: str, key: str, value: str) -> None:
    do(
        people,
        "ann",
        "CREATE TABLE IF NOT EXISTS shop.z (id INT, blocked ARRAY<STRING>, until DATE, at TIMESTAMP)",
        "INSERT OVERWRITE shop.z VALUES (1, array(), DATE'2023-12-31', TIMESTAMP'2020-01-01 00:00:00Z'), "
        "(2, NULL, DATE'2024-11-30', TIMESTAMP'2026-11-23 08:00:00Z')",
        "CREATE FUNCTION shop.decided(id INT, blocked ARRAY<STRING>, until DATE, at TIMESTAMP) RETURNS BOOLEAN "
        f"RETURN {body}",
        "ALTER TABLE shop.z SET ROW FILTER shop.decided ON (id, blocked, until, at)",
        "GRANT SELECT ON shop.z TO eve",
    )
    before = people.rows("eve", "SELECT id FROM shop.z")
    do(people, "eve", f"SET {key} = {value}")
    try:
        assert people.rows("eve", "SELECT id FROM shop.z") == before == [(1,)]
    finally:
        do(people, "eve", "RESET")
        do(people, "ann", "ALTER TABLE shop.z DROP ROW FILTER", "DROP FUNCTION shop.decided")


def test_settings_that_a_policy_depends_on_late_are_refused(people: People, payroll: None, views: None) -> None:
    do(people, "eve", "SET spark.sql.legacy.inSubqueryNullability = true")
    refused = "ROW_COLUMN_ACCESS.SETTING_NOT_SUPPORTED"
    assert condition(people, "eve", "SELECT * FROM shop.u") == refused
    assert people.rows("eve", "SELECT pay FROM shop.mv") == [(10,)]
    do(people, "eve", "RESET", "SET spark.sql.legacy.timeParserPolicy = LEGACY")
    assert people.rows("eve", "SELECT count(*) > 0 FROM shop.u") == [(True,)]
    do(people, "eve", "RESET")
