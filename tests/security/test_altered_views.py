"""ALTER VIEW requires the same privileges as other view statements: MANAGE, CREATE for the name, and SELECT for the
query.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName
from tests.security.guarded_lake import GuardedLake

_NAME = TableName("spark_catalog", "shop", "v")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[GuardedLake]:
    folder = tmp_path / "lake"
    folder.mkdir()
    found = GuardedLake(folder)
    for name in ("shop/t", "shop/u", "other/o"):
        found.table(name)
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO ann",
        "GRANT USE SCHEMA ON SCHEMA shop TO eve",
        "GRANT USE SCHEMA ON SCHEMA shop TO mal",
        "GRANT USE SCHEMA ON SCHEMA shop TO mod",
        "GRANT CREATE TABLE ON SCHEMA shop TO ann",
        "GRANT CREATE TABLE ON SCHEMA shop TO mal",
        "GRANT SELECT ON shop.t TO ann",
    )
    entry = ViewEntry(
        name=_NAME,
        text="SELECT id FROM t",
        current=_NAME.schema_name,
        columns=(ViewColumn(name="id", source="id", type="BIGINT"),),
        owner="ann",
    )
    found.sources.catalog.change(CreateView(entry))
    found.do("ann", "GRANT SELECT ON VIEW shop.v TO mal", "GRANT MANAGE ON VIEW shop.v TO mod")
    yield found


MODE = "ALTER VIEW shop.v WITH SCHEMA EVOLUTION"
COMMENT = "COMMENT ON COLUMN shop.v.id IS 'seen'"
RENAME, SET, UNSET = (
    "ALTER VIEW shop.v RENAME TO shop.w",
    "ALTER VIEW shop.v SET TBLPROPERTIES ('a' = 'b')",
    "ALTER VIEW shop.v UNSET TBLPROPERTIES IF EXISTS ('a')",
)


@pytest.mark.parametrize(
    ("who", "text", "outcome"),
    [
        ("ann", RENAME, "R"),  # the owner
        ("mal", RENAME, "42501"),  # who reads it, and may make tables
        ("mod", RENAME, "42501"),  # who manages it, and may make no tables
        ("eve", RENAME, "42P01"),  # may not know that it exists
        ("ann", "ALTER VIEW shop.v RENAME TO other.v", "42704"),
        ("ann", SET, "R"),
        ("mod", SET, "R"),
        ("mal", SET, "42501"),
        ("eve", SET, "42P01"),
        ("ann", UNSET, "R"),
        ("mal", UNSET, "42501"),
        ("eve", UNSET, "42P01"),
        ("ann", COMMENT, "R"),
        ("mal", COMMENT, "42501"),
        ("eve", COMMENT, "42P01"),
        ("ann", MODE, "R"),
        ("mod", MODE, "R"),
        ("mal", MODE, "42501"),
        ("eve", MODE, "42P01"),
        ("ann", "ALTER VIEW shop.v AS SELECT id FROM shop.t", "R"),
        ("ann", "ALTER VIEW shop.v AS SELECT id FROM shop.u", "42P01"),
        ("mal", "ALTER VIEW shop.v AS SELECT 1 AS id", "42501"),
        ("mod", "ALTER VIEW shop.v AS SELECT 1 AS id", "42501"),  # as CREATE OR REPLACE VIEW
        ("eve", "ALTER VIEW shop.v AS SELECT 1 AS id", "42P01"),
        ("eve", "ALTER VIEW shop.nothing AS SELECT 1 AS id", "42P01"),
        ("eve", "ALTER VIEW shop.u RENAME TO shop.w", "42P01"),
        ("ann", "ALTER VIEW shop.t SET TBLPROPERTIES ('a' = 'b')", "42501"),
        ("root", "ALTER VIEW shop.t SET TBLPROPERTIES ('a' = 'b')", "42809"),
    ],
)
def test_alter_view_takes_its_privileges(lake: GuardedLake, who: str, text: str, outcome: str) -> None:
    assert lake.outcome(who, text) == outcome, lake.error(who, text)


def test_a_renamed_view_has_its_owner_and_grants(lake: GuardedLake) -> None:
    lake.do("ann", RENAME)
    entry = lake.sources.catalog.view().resolve(TableName("spark_catalog", "shop", "w"))
    assert isinstance(entry, ViewEntry) and entry.current == SchemaName("spark_catalog", "shop")
    assert (entry.owner, [grant.principal.name for grant in entry.grants]) == ("ann", ["mal", "mod"])
    assert lake.outcome("mod", "ALTER VIEW shop.w SET TBLPROPERTIES ('a' = 'b')") == "R"
