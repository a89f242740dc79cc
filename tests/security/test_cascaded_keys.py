"""DROP PRIMARY KEY … CASCADE requires MODIFY also on the tables whose foreign keys it drops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.guarded_lake import GuardedLake


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    folder = tmp_path / "lake"
    folder.mkdir()
    found = GuardedLake(folder)
    found.do(
        "root",
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.parent (id INT, CONSTRAINT pk PRIMARY KEY (id))",
        "CREATE TABLE shop.child (id INT, CONSTRAINT fk FOREIGN KEY (id) REFERENCES shop.parent)",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT MODIFY ON shop.parent TO ann",
        "GRANT MODIFY ON shop.parent TO eve",
        "GRANT MODIFY ON shop.child TO ann",
        "GRANT SELECT ON shop.child TO eve",
    )
    return found


@pytest.mark.parametrize(
    "dropped", ["PRIMARY KEY", "PRIMARY KEY IF EXISTS", "CONSTRAINT pk", "CONSTRAINT IF EXISTS PK"]
)
def test_modify_on_the_child_table_is_required(lake: GuardedLake, dropped: str) -> None:
    assert lake.outcome("eve", f"ALTER TABLE shop.parent DROP {dropped}") == "42893"  # RESTRICT
    assert lake.outcome("eve", f"ALTER TABLE shop.parent DROP {dropped} CASCADE") == "42501"
    assert lake.outcome("ann", f"ALTER TABLE shop.parent DROP {dropped} CASCADE") == "R"


def test_other_constraint_is_dropped_without_privileges_on_the_child(lake: GuardedLake) -> None:
    assert lake.outcome("eve", "ALTER TABLE shop.parent DROP CONSTRAINT IF EXISTS other CASCADE") == "R"
