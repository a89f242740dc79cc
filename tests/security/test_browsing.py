"""Catalog browsers' metadata calls run through the pipeline: a table's metadata requires its privileges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.entries import FunctionEntry, FunctionParameter
from catalog.grants.right_changes import CreateFunction
from catalog.names import SchemaName, TableName
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetRowFilter
from engine.delta.snapshot.column_statistics import write_distinct_counts
from engine.delta.snapshot.snapshot import load_snapshot
from engine.pruning.estimates import DistinctCount
from engine.statements.describe.statement import DescribeTable
from engine.statements.listings.statement import ListFiles
from tests.engine.iceberg.handmade import HandmadeTable
from tests.security.guarded_lake import GuardedLake

NOTHING = FunctionEntry(
    name=TableName("spark_catalog", "shop", "nothing"),
    parameters=(FunctionParameter(name="id", type="BIGINT"),),
    returns="BOOLEAN",
    body="false",
    current=SchemaName("spark_catalog", "shop"),
    owner="root",
)
T = ("spark_catalog", "shop", "t")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLake]:
    folder = tmp_path_factory.mktemp("browsed") / "lake"
    folder.mkdir()
    found = GuardedLake(folder)
    for name in ("shop/t", "shop/policed"):
        found.table(name)
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT SELECT ON shop.t TO eve",
        "GRANT MODIFY ON shop.t TO mal",
        "GRANT SELECT ON shop.policed TO eve",
    )
    found.sources.catalog.change(CreateFunction(NOTHING))
    row_filter = PolicyFunction(NOTHING.name, (PolicyArgument(column="id"),))
    found.sources.catalog.change(SetRowFilter(TableName("spark_catalog", "shop", "policed"), row_filter))
    yield found


OLDER = DescribeTable(table_parts=T, extended=True, as_json=True, version=0)


@pytest.mark.parametrize(
    ("who", "statement", "outcome"),
    [
        ("eve", ListFiles(table_parts=T, limit=10), "R"),
        ("eve", ListFiles(table_parts=T, limit=10, version=0), "R"),
        ("mal", ListFiles(table_parts=T, limit=10), "42501"),
        ("mal", ListFiles(table_parts=T, limit=10, version=0), "42501"),
        ("bob", ListFiles(table_parts=T, limit=10), "42P01"),
        ("bob", ListFiles(table_parts=T, limit=10, version=0), "42P01"),
        ("eve", OLDER, "R"),
        ("mal", OLDER, "42501"),
        ("bob", OLDER, "42P01"),
    ],
)
def test_files_and_older_versions_take_select(lake: GuardedLake, who: str, statement: object, outcome: str) -> None:
    assert lake.outcome(who, statement) == outcome


@pytest.mark.parametrize(
    ("version", "condition"),
    [
        (None, "ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED"),
        (0, "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"),
    ],
)
def test_files_of_protected_table_are_hidden(lake: GuardedLake, version: int | None, condition: str) -> None:
    """Their sizes and partitions would reveal hidden rows."""
    name = ("spark_catalog", "shop", "policed")
    error = lake.error("eve", ListFiles(table_parts=name, limit=10, version=version))
    assert error is not None
    assert error.condition == condition


def test_files_are_listed_by_size_with_rows(lake: GuardedLake) -> None:
    both = lake.rows("eve", ListFiles(table_parts=T, limit=10))
    assert len(both) == 2
    for path, size, rows, deleted, partition in both:
        assert (lake.folder / "shop/t" / path).stat().st_size == size
        assert (rows, deleted, partition) == (1, 0, [])
    assert both[0][1] >= both[1][1]
    assert lake.rows("eve", ListFiles(table_parts=T, limit=1)) == both[:1]
    (first,) = lake.rows("eve", ListFiles(table_parts=T, limit=10, version=0))
    assert first in both


def test_an_older_version_is_described_as_it_was(lake: GuardedLake) -> None:
    lake.do("root", "GRANT MODIFY, MANAGE ON shop.t TO ann", "GRANT SELECT ON shop.t TO ann")
    lake.do("ann", "ALTER TABLE shop.t ADD COLUMN later INT")
    (older,) = lake.rows("eve", OLDER)[0]
    (newest,) = lake.rows("eve", DescribeTable(table_parts=T, extended=True, as_json=True))[0]
    assert '"later"' in newest and '"later"' not in older and '"version": 0' in older


def test_distinct_values_are_visible_to_readers(lake: GuardedLake) -> None:
    table = load_snapshot(str(lake.folder / "shop" / "t"))
    write_distinct_counts(table.storage, table.config, table.version, {"ssn": DistinctCount(2, 2)})
    reported = [("eve", [("ssn", "2", "counted in 2 rows")], [("distinct_count", "2")]), ("mal", [], [])]
    for who, of_table, of_column in reported:
        described = lake.rows(who, "DESCRIBE EXTENDED shop.t")
        assert [row for row in described if row[2] and row[2].startswith("counted")] == of_table, who
        assert [
            row for row in lake.rows(who, "DESCRIBE EXTENDED shop.t ssn") if row[0] == "distinct_count"
        ] == of_column


def test_files_of_an_iceberg_table_are_listed(lake: GuardedLake) -> None:
    columns = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    table = HandmadeTable(lake.folder / "shop" / "ice", columns=columns)
    table.commit(table.data({"id": [1, 2, 3]}))
    lake.do("root", "GRANT SELECT ON shop.ice TO eve")
    ((path, size, rows, deleted, partition),) = lake.rows(
        "eve", ListFiles(table_parts=("spark_catalog", "shop", "ice"), limit=10)
    )
    assert path.endswith(".parquet") and size > 0 and (rows, deleted, partition) == (3, 0, [])
