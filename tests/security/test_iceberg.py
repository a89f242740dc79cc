"""Iceberg tables are guarded as Delta tables are: by name, path and metadata file, and in their metadata tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from catalog.conditions import PolicyForbidsStatement, TableNotFound
from catalog.entries import TableEntry
from catalog.names import TableName
from engine.binding.bound import BoundExpression, BoundMetadata, BoundPolicy, BoundTable
from engine.binding.metadata_parts import relation_or_part
from engine.sql.query.values import Query
from tests.engine.iceberg.handmade import HandmadeTable
from tests.security.guarded_lake import GuardedLake, ensure_authorized


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLake]:
    folder = tmp_path_factory.mktemp("guarded") / "lake"
    folder.mkdir()
    columns = [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "ssn", "required": False, "type": "string"},
    ]
    table = HandmadeTable(folder / "shop" / "t", columns=columns)
    table.commit(table.data({"id": [1], "ssn": ["x"]}))
    found = GuardedLake(folder)
    found.table("shop/d")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO eve",
        "GRANT USE SCHEMA ON SCHEMA shop TO mal",
        "ALTER TABLE shop.t OWNER TO ann",
        "GRANT USE SCHEMA ON SCHEMA shop TO ann",
        "GRANT SELECT ON shop.t TO eve",
        "GRANT SELECT ON shop.d TO mal",
    )
    yield found


# Statement → its outcome for a principal to whom the table is not visible. A name with more parts than a table has is
# a metadata table only if the table is visible, and otherwise what it would be without the table.
READS = {
    "SELECT * FROM shop.t": "42P01",
    "SELECT * FROM iceberg.`{lake}/shop/t`": "42501",
    "SELECT * FROM iceberg.`{lake}/shop/../shop/t/`": "42501",
    "SELECT * FROM iceberg.`{lake}/shop/t/metadata/v1.metadata.json`": "42501",
    "SELECT * FROM shop.t.files": "42P08",
    "SELECT * FROM spark_catalog.shop.t.snapshots": "42601",
    "SELECT * FROM iceberg.`{lake}/shop/t`.entries": "42501",
    "SELECT * FROM shop.t VERSION AS OF 1001": "42P01",
    "SELECT * FROM shop.t VERSION AS OF 'main'": "42P01",
    "SELECT * FROM shop.t.branch_main": "42P08",
    "SELECT * FROM spark_catalog.shop.t.branch_main": "42601",
}
JOIN = "SELECT * FROM shop.d JOIN shop.t USING (id)"


def ensure_not_visible(lake: GuardedLake, who: str, text: str, state: str) -> None:
    """Checks that the outcome has this SQLSTATE, and is that of a table that does not exist, except for its name."""
    assert lake.outcome(who, text) == state
    if "shop.t" in text:
        hidden, missing = lake.error(who, text), lake.error(who, text.replace("shop.t", "shop.nothing"))
        assert hidden is not None and missing is not None
        assert str(hidden).replace("`t`", "`nothing`").replace("shop.t", "shop.nothing") == str(missing)


@pytest.mark.parametrize(("text", "state"), READS.items())
def test_table_and_metadata_are_read_with_select_only(lake: GuardedLake, text: str, state: str) -> None:
    text = text.format(lake=lake.folder)
    assert (lake.outcome("ann", text), lake.outcome("eve", text)) == ("R", "R")
    for who in ("mal", "bob"):
        ensure_not_visible(lake, who, text, state)


def test_join_requires_select_on_both_tables(lake: GuardedLake) -> None:
    assert [lake.outcome(who, JOIN) for who in ("ann", "eve", "mal", "bob")] == ["42P01"] * 4
    lake.do("root", "GRANT SELECT ON shop.d TO ann")
    assert lake.outcome("ann", JOIN) == "R"
    lake.do("root", "REVOKE SELECT ON shop.d FROM ann")


WRITES = {
    "INSERT INTO shop.t VALUES (1, 'y')": "42P01",
    "INSERT INTO shop.t.branch_main VALUES (1, 'y')": "42P08",
    "INSERT OVERWRITE spark_catalog.shop.t.branch_main VALUES (1, 'y')": "42601",
    "DELETE FROM shop.t.branch_main WHERE id = 1": "42P08",
    "UPDATE iceberg.`{lake}/shop/t` SET ssn = 'y'": "42501",
    "TRUNCATE TABLE shop.t": "42P01",
    "ALTER TABLE shop.t CREATE OR REPLACE TAG x": "42P01",
    "ALTER TABLE shop.t DROP TAG IF EXISTS y": "42P01",
    "ALTER TABLE shop.t ADD PARTITION FIELD bucket(4, id) AS some": "42P01",
    "ALTER TABLE shop.t WRITE ORDERED BY id": "42P01",
    "ALTER TABLE shop.t ADD COLUMN other INT": "42P01",
    "DROP TABLE shop.t": "42P01",
}


@pytest.mark.parametrize(("text", "state"), WRITES.items())
def test_select_alone_allows_no_change(lake: GuardedLake, text: str, state: str) -> None:
    text = text.format(lake=lake.folder)
    assert lake.outcome("eve", text) == "42501"
    for who in ("mal", "bob"):
        ensure_not_visible(lake, who, text, state)
    ensure_authorized(lake, "ann", text)


def test_replacing_a_table_requires_its_ownership_and_create_table(lake: GuardedLake) -> None:
    text = "CREATE OR REPLACE TABLE shop.t (a INT) USING iceberg"
    assert [lake.outcome(who, text) for who in ("ann", "eve", "mal", "bob")] == ["42501", "42501", "42501", "42704"]
    lake.do("root", "GRANT CREATE TABLE ON SCHEMA shop TO ann")
    ensure_authorized(lake, "ann", text)
    lake.do("root", "REVOKE CREATE TABLE ON SCHEMA shop FROM ann")


def test_metadata_of_a_table_with_policies_is_not_read(lake: GuardedLake) -> None:
    formats = lake.sources.formats
    location = str(lake.folder / "shop" / "t")
    entry = TableEntry(name=TableName("spark_catalog", "shop", "t"), location=location, format="iceberg")
    table = BoundTable(name=entry.name, entry=entry, snapshot=formats["iceberg"].load(location), own=formats["iceberg"])

    def look(policy: BoundPolicy | None, parts: tuple[str, ...]) -> BoundTable:
        if parts != ("t",):
            raise TableNotFound(".".join(parts))
        return replace(table, policy=policy)

    assert isinstance(relation_or_part(("t", "files"), partial(look, None)), BoundMetadata)
    masked = BoundPolicy(masks=(("ssn", BoundExpression(query=Query(text="SELECT 'x'"))),))
    with pytest.raises(PolicyForbidsStatement):
        relation_or_part(("t", "files"), partial(look, masked))


@pytest.mark.parametrize("place", ["/etc/passwd.metadata.json", "/tmp/elsewhere", "{lake}/../lake-catalog"])
def test_paths_outside_of_the_lake_are_refused(lake: GuardedLake, place: str) -> None:
    assert lake.outcome("root", f"SELECT * FROM iceberg.`{place.format(lake=lake.folder)}`") == "42501"


def test_a_table_whose_metadata_leads_away_is_refused(lake: GuardedLake) -> None:
    for name, place in (("own", "shop/own/x.parquet"), ("away", "shop/d/part.parquet"), ("far", "../../etc/passwd")):
        table = HandmadeTable(lake.folder / "shop" / name)
        path = os.path.normpath(f"{lake.folder}/{place}")
        table.commit({**table.data({"id": [1]}), "file_path": f"file://{path}"})
        lake.do("root", f"GRANT SELECT ON shop.{name} TO ann")
    assert lake.outcome("ann", "SELECT * FROM shop.own") == "R"
    for name in ("away", "far"):
        error = lake.error("ann", f"SELECT * FROM shop.{name}")
        assert error is not None and error.condition == "LOG_PATH_NOT_ALLOWED"
