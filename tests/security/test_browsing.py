"""Catalog browsers' metadata calls run through the pipeline: a table's metadata requires its privileges."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.changes import CreateView
from catalog.entries import FunctionEntry, FunctionParameter, ViewEntry
from catalog.grants.right_changes import CreateFunction
from catalog.names import SchemaName, TableName
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetRowFilter
from engine.delta.snapshot.column_statistics import write_distinct_counts
from engine.delta.snapshot.snapshot import load_snapshot
from engine.pruning.estimates import DistinctCount
from engine.statements.describe.statement import DescribeTable
from engine.statements.listings.statement import (
    ListChecks,
    ListColumnStatistics,
    ListEntries,
    ListFiles,
    ListLineage,
    ObjectKind,
)
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
        ("eve", ListColumnStatistics(table_parts=T), "R"),
        ("mal", ListColumnStatistics(table_parts=T), "42501"),
        ("bob", ListColumnStatistics(table_parts=T), "42P01"),
        ("mal", ListLineage(table_parts=T), "R"),
        ("bob", ListLineage(table_parts=T), "42P01"),
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
def test_files_and_statistics_of_protected_table_are_hidden(
    lake: GuardedLake, version: int | None, condition: str
) -> None:
    """Sizes, partitions and values would reveal hidden rows."""
    name = ("spark_catalog", "shop", "policed")
    files = ListFiles(table_parts=name, limit=10, version=version)
    for statement in (files, ListColumnStatistics(table_parts=name, version=version)):
        error = lake.error("eve", statement)
        assert error is not None and error.condition == condition


def test_column_statistics_are_those_of_the_log(lake: GuardedLake) -> None:
    day = pa.array([dt.date(2026, 1, 2), None, dt.date(2026, 1, 1)])
    columns = {
        "n": pa.array([3, None, -1], pa.int64()),
        "s": ["b", "a" * 40, "c"],
        "day": day,
        "part": ["x", "y", None],
    }
    nested = pa.array([{"a": 1}] * 3, pa.struct([("a", pa.int32())]))
    write_deltalake(lake.folder / "shop/t2", pa.table(columns | {"nested": nested}), partition_by=["part"])
    lake.do("root", "GRANT SELECT ON shop.t2 TO eve")
    found = lake.rows("eve", ListColumnStatistics(table_parts=("spark_catalog", "shop", "t2")))
    low_text = next(row[2] for row in found if row[0] == "s")
    assert "aaaa".startswith(low_text[:4]), "a bound, which may be a part of the value"
    assert {row[0]: row[1:] for row in found} == {
        "n": ("bigint", "-1", "3", True, 1, 3, 3),
        "s": ("string", low_text, "c", False, 0, 3, 3),
        "day": ("date", "2026-01-01", "2026-01-02", True, 1, 3, 3),
        "part": ("string", "x", "y", True, 1, 3, 3),
        "nested": ("struct<a:int>", None, None, False, None, 3, 3),
    }


def test_lineage_has_the_visible_neighbors(lake: GuardedLake) -> None:
    def add_view(name: str, text: str) -> None:
        entry = ViewEntry(
            name=TableName("spark_catalog", "shop", name), text=text, current=NOTHING.current, owner="ann"
        )
        lake.sources.catalog.change(CreateView(entry))

    add_view("of_t", "SELECT * FROM t JOIN spark_catalog.shop.policed USING (id) JOIN shop.gone")
    add_view("of_view", "SELECT id FROM OF_T WHERE id IN (SELECT id FROM t)")
    add_view("other", "SELECT 't' AS t")
    lake.do("root", "GRANT SELECT ON shop.of_t TO eve", "GRANT SELECT ON shop.of_view TO mal")

    def neighbors(who: str, name: str) -> list[tuple[object, ...]]:
        rows = lake.rows(who, ListLineage(table_parts=("spark_catalog", "shop", name)))
        return [(row[0], row[3], row[4]) for row in rows]

    up, down = True, False
    assert neighbors("ann", "of_t") == [(down, "of_view", "VIEW")]
    assert neighbors("eve", "of_t") == [(up, "t", "TABLE"), (up, "policed", "TABLE")]
    assert neighbors("eve", "t") == [(down, "of_t", "VIEW")]
    assert neighbors("mal", "t") == [(down, "of_view", "VIEW")]
    assert neighbors("mal", "of_view") == [(up, "t", "TABLE")]
    assert neighbors("eve", "policed") == [(down, "of_t", "VIEW")]


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


def entries(lake: GuardedLake, who: str, kind: ObjectKind, **given: Any) -> list[dict[str, Any]]:
    listing = ListEntries(kind=kind, **{"catalog": "spark_catalog", "schema": "listed"} | given)
    return [json.loads(text) for (text,) in lake.rows(who, listing)]


def names(found: list[dict[str, Any]]) -> list[str]:
    return [entry["name"][-1] for entry in found]


@pytest.fixture(scope="module")
def listed(lake: GuardedLake) -> GuardedLake:
    """A schema with an object of each kind; eve may use one of each, and bob nothing."""
    for name in ("listed/a", "listed/b"):
        lake.table(name)
    lake.do(
        "root",
        "CREATE VOLUME listed.files COMMENT 'of the schema'",
        "CREATE VOLUME listed.hidden",
        "GRANT SELECT ON listed.a TO eve",
        "GRANT READ VOLUME ON VOLUME listed.files TO eve",
    )
    for name in ("f", "hidden_f"):
        entry = FunctionEntry(
            name=TableName("spark_catalog", "listed", name),
            parameters=(FunctionParameter(name="x", type="INT", default="1", comment="a number"),),
            returns="INT",
            body="x",
            current=SchemaName("spark_catalog", "listed"),
            owner="root",
        )
        lake.sources.catalog.change(CreateFunction(entry))
    lake.do("root", "GRANT EXECUTE ON FUNCTION listed.f TO eve")
    return lake


def test_entries_are_those_that_the_principal_may_see(listed: GuardedLake) -> None:
    seen = {
        ObjectKind.TABLE: (["a"], ["a", "b"]),
        ObjectKind.FUNCTION: (["f"], ["f", "hidden_f"]),
        ObjectKind.VOLUME: (["files"], ["files", "hidden"]),
    }
    for kind, (of_eve, of_root) in seen.items():
        assert names(entries(listed, "eve", kind)) == of_eve
        assert names(entries(listed, "root", kind)) == of_root
        assert listed.outcome("bob", ListEntries(kind=kind, catalog="spark_catalog", schema="listed")) == "42704"
    for who, is_seen in (("eve", True), ("root", True), ("bob", False)):
        assert ("listed" in names(entries(listed, who, ObjectKind.SCHEMA))) is is_seen
    assert names(entries(listed, "eve", ObjectKind.CATALOG)) == ["spark_catalog", "system"]


@pytest.mark.parametrize(
    ("kind", "shown", "hidden", "sqlstate"),
    [
        (ObjectKind.TABLE, "a", "b", "42P01"),
        (ObjectKind.FUNCTION, "f", "hidden_f", "42883"),
        (ObjectKind.VOLUME, "files", "hidden", "42704"),
    ],
)
def test_hidden_entry_listed_by_name_is_unknown(
    listed: GuardedLake, kind: ObjectKind, shown: str, hidden: str, sqlstate: str
) -> None:
    assert names(entries(listed, "eve", kind, name=shown.upper())) == [shown]
    for name in (hidden, "nowhere"):
        listing = ListEntries(kind=kind, catalog="spark_catalog", schema="listed", name=name)
        assert listed.outcome("eve", listing) == sqlstate
    assert names(entries(listed, "root", kind, name=hidden)) == [hidden]


def test_places_and_bodies_are_shown_to_managers_only(listed: GuardedLake) -> None:
    for who, is_manager in (("eve", False), ("root", True)):
        (table,) = entries(listed, who, ObjectKind.TABLE, name="a")
        (function,) = entries(listed, who, ObjectKind.FUNCTION, name="f")
        (volume,) = entries(listed, who, ObjectKind.VOLUME, name="files")
        assert ["location" in table, "body" in function, "location" in volume] == [is_manager] * 3
        assert function["parameters"] == [{"name": "x", "type": "INT", "default": "1", "comment": "a number"}]
        assert (table["type"], table["format"], volume["comment"]) == ("EXTERNAL", "delta", "of the schema")


def test_pages_of_entries_continue_after_a_name(listed: GuardedLake) -> None:
    assert names(entries(listed, "root", ObjectKind.TABLE, limit=1)) == ["a"]
    assert names(entries(listed, "root", ObjectKind.TABLE, limit=1, after="a")) == ["b"]
    assert names(entries(listed, "root", ObjectKind.TABLE, after="b")) == []


def test_checks_are_listed_for_visible_tables_only(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    for name in ("open", "closed"):
        lake.table(f"shop/{name}")
        DeltaTable(folder / "shop" / name).alter.add_constraint({"small": "id < 9"})
    lake.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT SELECT ON shop.open TO eve",
    )
    listing = ListChecks(table=("spark_catalog", "shop", None))
    assert [row[2:] for row in lake.rows("root", listing)] == [
        ("closed", "small", "id < 9"),
        ("open", "small", "id < 9"),
    ]
    assert [row[2:] for row in lake.rows("eve", listing)] == [("open", "small", "id < 9")]
    assert lake.rows("bob", listing) == []
