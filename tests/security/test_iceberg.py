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
from engine.binding.bound import BoundMetadata, BoundPolicy, BoundTable
from engine.binding.metadata_parts import relation_or_part
from tests.engine.iceberg.handmade import HandmadeTable
from tests.security.guarded_lake import GuardedLake


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


READS = [
    "SELECT * FROM shop.t",
    "SELECT * FROM iceberg.`{lake}/shop/t`",
    "SELECT * FROM iceberg.`{lake}/shop/../shop/t/`",
    "SELECT * FROM iceberg.`{lake}/shop/t/metadata/v1.metadata.json`",
    "SELECT * FROM shop.t.files",
    "SELECT * FROM spark_catalog.shop.t.snapshots",
    "SELECT * FROM iceberg.`{lake}/shop/t`.entries",
    "SELECT * FROM shop.t VERSION AS OF 1001",
    "SELECT * FROM shop.t VERSION AS OF 'main'",
    "SELECT * FROM shop.t.branch_main",
    "SELECT * FROM spark_catalog.shop.t.branch_main",
    "SELECT * FROM shop.d JOIN shop.t USING (id)",
]


@pytest.mark.parametrize("text", READS)
def test_who_may_select_reads_the_table_and_its_metadata(lake: GuardedLake, text: str) -> None:
    text = text.format(lake=lake.folder)
    assert lake.outcome("ann", text) == ("R" if "shop.d" not in text else "42P01")
    assert lake.outcome("mal", text) in ("42501", "42P01", "42P08", "42601")
    assert lake.outcome("bob", text) in ("42501", "42P01", "42P08", "42704", "42601")


def test_a_grant_is_enough(lake: GuardedLake) -> None:
    for text in READS:
        if "shop.d" not in text:
            assert lake.outcome("eve", text.format(lake=lake.folder)) == "R", text


WRITES = [
    "INSERT INTO shop.t VALUES (1, 'y')",
    "INSERT INTO shop.t.branch_main VALUES (1, 'y')",
    "INSERT OVERWRITE spark_catalog.shop.t.branch_main VALUES (1, 'y')",
    "DELETE FROM shop.t.branch_main WHERE id = 1",
    "UPDATE iceberg.`{lake}/shop/t` SET ssn = 'y'",
    "TRUNCATE TABLE shop.t",
    "ALTER TABLE shop.t CREATE OR REPLACE TAG x",
    "ALTER TABLE shop.t DROP TAG IF EXISTS y",
    "ALTER TABLE shop.t ADD PARTITION FIELD bucket(4, id) AS some",
    "ALTER TABLE shop.t WRITE ORDERED BY id",
    "ALTER TABLE shop.t ADD COLUMN other INT",
    "CREATE OR REPLACE TABLE shop.t (a INT) USING iceberg",
    "DROP TABLE shop.t",
]


@pytest.mark.parametrize("text", WRITES)
def test_who_may_select_changes_nothing(lake: GuardedLake, text: str) -> None:
    text = text.format(lake=lake.folder)
    for who in ("eve", "mal", "bob"):
        assert lake.outcome(who, text) in ("42501", "42P01", "42P08", "42704", "42601"), who


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
    with pytest.raises(PolicyForbidsStatement):
        relation_or_part(("t", "files"), partial(look, BoundPolicy(masks=(("ssn", "'x'"),))))


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
