"""The sample lake: real tables, the same each time, written once and as a whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from catalog.discovery.discovery import ServedFolder
from catalog.store.files import LocalTree
from engine.delta import load_snapshot
from engine.sample.data import make_sample_rows
from engine.sample.lake import ensure_sample_lake

ROWS = make_sample_rows()
TABLES = {table.path: table for table in (*ROWS.tables, ROWS.stock)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "not" / "yet" / "lake"
    ensure_sample_lake(str(folder))
    return folder


def read(table: deltalake.DeltaTable) -> Any:
    rows = table.to_pyarrow_table()
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


@pytest.mark.parametrize("path", sorted(TABLES.keys() - {"shop/stock"}))
def test_another_reader_finds_the_rows(lake: Path, path: str) -> None:
    expected = TABLES[path].rows
    rows = read(deltalake.DeltaTable(str(lake / path)))
    assert rows.num_rows == expected.num_rows > 100
    by_all = [(name, "ascending") for name in rows.column_names]
    assert rows.cast(expected.select(rows.column_names).schema) == expected.select(rows.column_names).sort_by(by_all)


@pytest.mark.parametrize("path", sorted(TABLES))
def test_our_snapshot_has_the_files_and_statistics(lake: Path, path: str) -> None:
    snapshot = load_snapshot(str(lake / path))
    theirs = deltalake.DeltaTable(str(lake / path))
    assert snapshot.version == theirs.version()
    assert {f"{lake}/{path}/{name}" for name in snapshot.files["path"].to_pylist()} == {
        uri.removeprefix("file://") for uri in theirs.file_uris()
    }
    actions = pa.table(theirs.get_add_actions(flatten=True))
    assert sum(actions["num_records"].to_pylist()) == theirs.to_pyarrow_table().num_rows
    assert snapshot.schema == TABLES[path].schema


@pytest.mark.parametrize("path", sorted(TABLES.keys() - {"shop/stock"}))
def test_bounds_in_the_log_are_those_of_the_rows(lake: Path, path: str) -> None:
    actions = pa.table(deltalake.DeltaTable(str(lake / path)).get_add_actions(flatten=True))
    table = TABLES[path]
    bounded = (name for name in table.rows.column_names if f"min.{name}" in actions.column_names)
    names = {name for name in bounded if actions[f"min.{name}"].null_count == 0}
    booleans = {name for name in table.rows.column_names if pa.types.is_boolean(table.rows.schema.field(name).type)}
    assert names == set(table.rows.column_names) - booleans - {table.partition_column}
    for name in names:
        values = [value for value in table.rows[name].to_pylist() if value is not None]
        assert min(actions[f"min.{name}"].to_pylist()) == min(values), name
        assert max(actions[f"max.{name}"].to_pylist()) == max(values), name


def test_orders_are_partitioned_by_date(lake: Path) -> None:
    table = deltalake.DeltaTable(str(lake / "shop/orders"))
    assert table.metadata().partition_columns == ["order_date"]
    days = table.to_pyarrow_table(columns=["order_date"])["order_date"].unique()
    assert len(days) == len(table.file_uris()) == 184
    rows = table.to_pyarrow_table(columns=["ordered_at", "order_date"])
    assert all(
        at.date() == day for at, day in zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True)
    )


def test_stock_has_a_history(lake: Path) -> None:
    uri = str(lake / "shop/stock")
    history = deltalake.DeltaTable(uri).history()
    assert [entry["operation"] for entry in reversed(history)] == [
        "CREATE TABLE AS SELECT",
        "WRITE",
        "UPDATE",
        "DELETE",
        "WRITE",
    ]
    versions = [deltalake.DeltaTable(uri, version=version).to_pyarrow_table() for version in range(5)]
    counts = [version.num_rows for version in versions]
    assert counts[0] < counts[1] == counts[2] == counts[4] > counts[3]
    sums = [sum(version["quantity"].to_pylist()) for version in versions]
    assert sums[2] == sums[1] + 50 * 120
    assert sums[3] == sums[2]
    assert 0 in versions[1]["quantity"].to_pylist()
    assert 0 not in versions[3]["quantity"].to_pylist()


def test_ids_join() -> None:
    tables = {path.rpartition("/")[2]: table.rows for path, table in TABLES.items()}
    for child, parent, key in (
        ("orders", "customers", "customer_id"),
        ("order_items", "orders", "order_id"),
        ("order_items", "products", "product_id"),
        ("stock", "products", "product_id"),
        ("customers", "weather", "city"),
    ):
        assert set(tables[child][key].to_pylist()) <= set(tables[parent][key].to_pylist())


def test_the_rows_are_the_same_each_time() -> None:
    again = make_sample_rows()
    assert [table.rows for table in again.tables] == [table.rows for table in ROWS.tables]
    assert again.stock.rows == ROWS.stock.rows
    assert again.stock_recount == ROWS.stock_recount


def test_the_server_finds_the_tables(lake: Path) -> None:
    served = ServedFolder(LocalTree(str(lake)))
    assert served.schemas() == ["default", "shop"]
    found = ["/".join(entry.name.parts[1:]) for schema in served.schemas() for entry in served.tables(schema)]
    assert sorted(found) == sorted(path if "/" in path else f"default/{path}" for path in TABLES)


def test_a_lake_that_is_there_is_left_alone(lake: Path) -> None:
    before = sorted(lake.rglob("*"))
    ensure_sample_lake(str(lake), progress=lambda step: pytest.fail("nothing is to be written"))
    assert sorted(lake.rglob("*")) == before
    assert [path.name for path in lake.parent.iterdir()] == ["lake"]


def test_a_failed_attempt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("engine.sample.lake.pq.write_table", full)
    with pytest.raises(OSError, match="no space"):
        ensure_sample_lake(str(tmp_path / "lake"))
    assert list(tmp_path.iterdir()) == []


def test_of_two_servers_that_start_at_once_one_writes(tmp_path: Path, lake: Path) -> None:
    """The other finds the lake in its place when it is about to rename its own."""
    place = tmp_path / "lake"

    def write_first(step: str) -> None:
        shutil.copytree(lake, place)

    ensure_sample_lake(str(place), progress=write_first)
    assert os.listdir(tmp_path) == ["lake"]
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == sorted(
        path.relative_to(lake) for path in lake.rglob("*")
    )
