"""Ways around policies and privileges, each of them closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog
from engine.bind.binder import Binder
from engine.exec.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("ways around") / "lake"
    folder.mkdir()
    return str(folder)


@pytest.fixture(scope="module")
def people(lake: str, spark_driver: SparkDriver) -> Iterator[People]:
    """ann may see all, and eve what the tenant a has."""
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
    asked = [f"SELECT to_json(struct(*)) FROM information_schema.{view}" for view in (*views, "table_constraints")]
    asked += ["SHOW TBLPROPERTIES shop.child", "DESCRIBE DETAIL shop.child", "SHOW CREATE TABLE shop.child"]
    asked += ["DESCRIBE EXTENDED shop.child", "DESCRIBE EXTENDED shop.child AS JSON"]
    asked += ["SHOW FOREIGN KEYS IN CATALOG spark_catalog IN SCHEMA shop IN TABLE child"]
    told = {who: [str(people.rows(who, text)) for text in asked] for who in ("ann", "eve")}
    assert all("fk" in text for text in told["ann"])
    assert not [text for text in told["eve"] if "fk" in text or "hidden" in text]
    assert "child" in told["eve"][0]


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
    """A view `mv` of a filtered table `m`, that a policy of `u` reads, and eve."""
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
def test_what_others_make_in_between_is_not_replaced(
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
