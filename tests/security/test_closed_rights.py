"""Bypasses around privileges, each of them closed; without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from catalog.entries import FunctionEntry
from catalog.grants.right_changes import CreateFunction
from catalog.names import SchemaName, TableName
from tests.security.guarded_lake import GuardedLake


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    """Creates a lake where eve sees the schema through a table `t` that she may change, and not read."""
    (tmp_path / "lake").mkdir()
    found = GuardedLake(tmp_path / "lake")
    found.table("shop/t")
    found.table("shop/hid")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT MODIFY ON shop.t TO eve",
    )
    return found


# A statement, and its outcome with SELECT: the column is not a partition column.
READS_ROWS = {
    "ALTER TABLE shop.t ADD CONSTRAINT c CHECK (CAST(ssn AS INT) > 0)": "R",
    "ALTER TABLE shop.t ALTER COLUMN ssn SET NOT NULL": "R",
    "OPTIMIZE shop.t WHERE CAST(ssn AS INT) > 0": "42P10",
    "REORG TABLE shop.t WHERE CAST(ssn AS INT) > 0 APPLY (PURGE)": "42P10",
}


@pytest.mark.parametrize(("text", "outcome"), READS_ROWS.items())
def test_row_dependent_statement_requires_select(lake: GuardedLake, text: str, outcome: str) -> None:
    by_path = text.replace("shop.t", f"delta.`{lake.folder}/shop/t`")
    for each in (text, by_path):
        error = lake.error("eve", each)
        assert error is not None
        assert (error.sqlstate, "SELECT" in error.message) == ("42501", True)
    lake.do("root", "GRANT SELECT ON shop.t TO eve")
    assert lake.outcome("eve", text) == outcome


def test_the_place_of_a_table_is_for_who_manages_it(lake: GuardedLake) -> None:
    lake.do("root", "GRANT CREATE TABLE, MODIFY, MANAGE ON SCHEMA shop TO ann")
    lake.do("ann", "CREATE TABLE shop.empty (a INT)", "GRANT MODIFY ON shop.empty TO eve")
    for text in ("VACUUM shop.empty", "OPTIMIZE shop.empty"):
        assert str(lake.folder) in str(lake.rows("ann", text))
        assert str(lake.folder) not in str(lake.rows("eve", text))
        by_path = text.replace("shop.empty", f"delta.`{lake.folder}/shop/empty`")
        assert len(lake.rows("eve", by_path)) == 1


def test_a_table_of_the_lake_keeps_its_policies(lake: GuardedLake) -> None:
    """DROP would take the record away, with grants, owner and policies, and leave the table."""
    lake.do("root", "GRANT SELECT ON SCHEMA shop TO bob", "ALTER TABLE shop.hid OWNER TO ann")
    lake.do("ann", "GRANT SELECT ON shop.hid TO eve")
    for who, text in (("ann", "DROP TABLE shop.hid"), ("root", "DROP SCHEMA shop CASCADE")):
        assert lake.outcome(who, text) == "55000"
    lake.do("root", "ALTER TABLE shop.t OWNER TO ann", "REVOKE MODIFY ON shop.t FROM eve")
    lake.do("ann", "DROP TABLE shop.t")  # nothing to lose
    shutil.rmtree(lake.folder / "shop" / "hid")
    lake.do("ann", "DROP TABLE shop.hid")


def test_replace_tells_nothing_of_a_name(lake: GuardedLake) -> None:
    lake.do("root", "GRANT SELECT ON shop.t TO bob", "GRANT CREATE TABLE, USE SCHEMA ON SCHEMA shop TO bob")
    for who in ("eve", "bob"):
        for text in ("REPLACE TABLE shop.{} (a INT)", "CREATE OR REPLACE TABLE shop.{} (a INT)"):
            for place in ("", f" LOCATION '{lake.folder}/elsewhere'"):
                error = lake.error(who, text.format("hid") + place)
                assert error is not None
                assert error.sqlstate == "42501" and f"{lake.folder}/shop" not in error.full_message
    for text in ("REPLACE TABLE shop.{} (a INT)", "CREATE OR REPLACE TABLE shop.{} (a INT) LOCATION '/x/y'"):
        reported = {str(lake.error("eve", text.format(name))).replace(name, "") for name in ("hid", "nosuch")}
        assert len(reported) == 1, reported
    error = lake.error("bob", f"CREATE OR REPLACE TABLE shop.t (a INT) LOCATION '{lake.folder}/elsewhere'")
    assert error is not None and f"{lake.folder}/shop" not in error.full_message
    assert lake.outcome("bob", "REPLACE TABLE shop.nosuch (a INT)") == "42P01"


def test_a_group_that_a_policy_is_for_stays_what_it_is(lake: GuardedLake) -> None:
    lake.do("root", "ALTER TABLE shop.hid OWNER TO GROUP staff", "ALTER SCHEMA shop OWNER TO ann")
    names = "TO GROUP interns, USER ivy EXCEPT GROUP audit FOR TABLES"
    function = CreateFunction(
        FunctionEntry(
            name=TableName("spark_catalog", "shop", "keep"),
            parameters=(),
            returns="BOOLEAN",
            body="TRUE",
            current=SchemaName("spark_catalog", "shop"),
            owner="ann",
        )
    )
    lake.sources.catalog.change(function)
    lake.do("ann", f"CREATE POLICY p ON TABLE shop.t ROW FILTER shop.keep {names}")
    for name in ("interns", "audit", "staff", "ivy"):
        error = lake.error("root", f"CREATE GROUP {name}")
        assert error is not None and type(error).__name__ == "PrincipalAmbiguous", name
    lake.do("root", "CREATE GROUP others")
