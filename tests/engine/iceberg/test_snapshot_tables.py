"""CALL system.snapshot: Delta tables as Iceberg tables over the same files, read by pyiceberg and DuckDB."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from catalog.changes import DropTable
from catalog.conditions import TableAlreadyExists
from catalog.names import TableName
from engine.execution.writes import commit as creation
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.peer_readers import PEERS, Rows, comparable


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    return BareLake(tmp_path)


def snapshot(bare: BareLake, name: str = "t") -> IcebergSnapshot:
    found = bare.sources.formats["iceberg"].load(str(bare.path(name)))
    assert isinstance(found, IcebergSnapshot)
    return found


def read_by_all(bare: BareLake, columns: list[str], name: str = "t") -> Rows:
    """Returns the rows that pyiceberg and DuckDB read, if they agree."""
    path = bare.path(name) / snapshot(bare, name).metadata_name
    theirs = comparable(StaticTable.from_metadata(str(path)).scan().to_arrow().select(columns))
    listed = ", ".join(f'"{each}"' for each in columns)
    assert comparable(open_duckdb().execute(f"SELECT {listed} FROM iceberg_scan('{path}')").to_arrow_table()) == theirs
    return theirs


COLUMNS: dict[str, Any] = {
    "k": pa.array([1, 2, None], pa.int32()),
    "price": pa.array([Decimal("1.25"), None, Decimal("-3.00")], pa.decimal128(9, 2)),
    "at": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, 600_000, dt.UTC), None, None], pa.timestamp("us", "UTC")),
    "tags": pa.array([["a", None], [], None], pa.list_(pa.string())),
    "place": pa.array(
        [{"x": 1.5, "y": "é"}, {"x": None, "y": ""}, None], pa.struct([("x", pa.float64()), ("y", pa.string())])
    ),
    "p": ["a b/c=d", None, "é"],
    "d": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]),
}


def test_rows_statistics_and_partitions(bare: BareLake) -> None:
    bare.append("d", COLUMNS, partition_by=["p", "d"])
    before = {path: path.read_bytes() for path in bare.path("d").rglob("*") if path.is_file()}
    assert bare.rows("CALL system.snapshot('d', 't', properties => map('owned.by', 'me'))") == [(3,)]
    assert {path: path.read_bytes() for path in bare.path("d").rglob("*") if path.is_file()} == before
    names = list(COLUMNS)
    assert read_by_all(bare, names) == PEERS["duckdb"](bare.path("d"), names)
    found = snapshot(bare)
    properties = found.metadata.properties
    assert (properties["gc.enabled"], properties["snapshot"], properties["owned.by"]) == ("false", "true", "me")
    assert [each.name for each in found.metadata.spec.fields] == ["p", "d"]
    metrics = found.live_files.data["lower_bounds"].to_pylist()
    assert len(metrics) == 3 and all(metrics)
    (line,) = bare.rows("DESCRIBE DETAIL t")
    assert line[0] == "iceberg"


def test_there_and_back(bare: BareLake) -> None:
    """File field ids, deleted rows, and widened types."""
    made = HandmadeTable(
        bare.path("d"), columns=[{"id": 3, "name": "was", "required": False, "type": "int"}], version=3
    )
    one = made.data({"was": pa.array([1, 2, 3], pa.int32())})
    made.commit(one)
    made.evolve(
        [{"id": 7, "name": "was", "required": False, "type": "string"}]
        + [{"id": 3, "name": "x", "required": False, "type": "long", "doc": "d"}]
    )
    made.commit(made.data({"was": ["a"], "x": [4]}), *made.vectors({one["file_path"]: [1]}))
    expected: Rows = [(1, None), (3, None), (4, "a")]
    bare.answer("CONVERT TO DELTA d")
    for version in (2, 3):
        name = f"t{version}"
        bare.answer(f"CALL system.snapshot('d', '{name}', properties => map('format-version', '{version}'))")
        assert read_by_all(bare, ["x", "was"], name) == expected
        found = snapshot(bare, name)
        assert {each.name: each.id for each in found.iceberg_schema.fields} == {"was": 7, "x": 3}
        assert found.metadata.last_column_id == 100 and found.iceberg_schema.fields[1].doc == "d"
        assert found.live_files.deletes["file_format"].to_pylist() == ["PUFFIN" if version == 3 else "PARQUET"]


def test_names_that_were_given_again(bare: BareLake) -> None:
    """Files without ids have columns under physical names, also in metrics."""
    bare.append("d", {"a": [1, 2], "b": ["x", "y"]})
    bare.answer("ALTER TABLE d SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        bare.answer(f"ALTER TABLE d RENAME COLUMN {old} TO {new}")
    bare.answer("CALL system.snapshot('d', 't')")
    assert read_by_all(bare, ["a", "b"]) == [("x", 1), ("y", 2)]
    assert b"x" in snapshot(bare).live_files.data["lower_bounds"][0].as_py()


def test_files_stay_while_a_version_has_them(bare: BareLake) -> None:
    bare.append("d", {"id": [1]})
    bare.append("d", {"id": [2]})
    bare.answer("CALL system.snapshot('d', 't')")
    bare.answer("DELETE FROM d")
    long_ago = time.time() - 30 * 24 * 3600
    for path in bare.path("d").rglob("*.parquet"):
        os.utime(path, (long_ago, long_ago))
    bare.answer("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    assert bare.rows("VACUUM d RETAIN 0 HOURS DRY RUN") == []
    for procedure in ("expire_snapshots('t', snapshot_ids => array(1))", "remove_orphan_files('t')"):
        assert "gc.enabled" in str(bare.refuse(f"CALL system.{procedure}"))
    bare.answer("DROP TABLE t PURGE")
    assert len(bare.rows("VACUUM d RETAIN 0 HOURS DRY RUN")) == 2
    assert PEERS["deltalake"](bare.path("d"), ["id"]) == []


def test_ids_of_files_that_mean_something_else(bare: BareLake) -> None:
    """A Delta table without column mapping reads its files by names, whatever ids they have; Iceberg's do not."""
    for number, (ids, is_same) in enumerate((({"a": 1, "b": 2}, True), ({"a": 2, "b": 1}, False), ({"a": 1}, False))):
        folder = bare.path(f"d{number}")
        folder.mkdir(parents=True)
        fields = [
            pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(ids[name])} if name in ids else None)
            for name in "ab"
        ]
        pq.write_table(pa.table([[1], [2]], schema=pa.schema(fields)), folder / "1.parquet")
        bare.answer(f"CONVERT TO DELTA parquet.`{folder}`")
        if is_same:
            bare.answer(f"CALL system.snapshot('d{number}', 't')")
            assert read_by_all(bare, ["a", "b"]) == [(1, 2)]
        else:
            assert "field id" in str(bare.refuse(f"CALL system.snapshot('d{number}', 'u')"))


def test_a_struct_with_an_id_of_fields_without(bare: BareLake) -> None:
    """Iceberg's readers take no field in a file by its name if another one has an id."""
    folder = bare.path("d")
    folder.mkdir(parents=True)
    inner = pa.struct([pa.field("x", pa.int64())])
    field = pa.field("s", inner, metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([pa.array([{"x": 5}], inner)], schema=pa.schema([field])), folder / "1.parquet")
    bare.answer(f"CONVERT TO DELTA parquet.`{folder}`")
    assert "its column x has no field id" in str(bare.refuse("CALL system.snapshot('d', 't')"))


def test_elements_without_the_ids_of_the_table(bare: BareLake) -> None:
    """A Delta log has no element ids, so readers would look for other ids than the files have."""
    kind = {"type": "list", "element-id": 9, "element": "long", "element-required": False}
    made = HandmadeTable(bare.path("d"), columns=[{"id": 1, "name": "l", "required": False, "type": kind}])
    element = pa.field("element", pa.int64(), metadata={"PARQUET:field_id": "9"})
    made.commit(made.data(pa.table({"l": pa.array([[1]], pa.list_(element))})))
    bare.answer("CONVERT TO DELTA d")
    assert "consists of" in str(bare.refuse("CALL system.snapshot('d', 't')"))


def test_a_snapshot_that_fails_leaves_no_files(bare: BareLake, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    made = HandmadeTable(bare.path("d"), columns=columns, version=3)
    one = made.data({"id": [1, 2]})
    made.commit(one)
    made.commit(*made.vectors({one["file_path"]: [0]}), operation="delete")
    bare.answer("CONVERT TO DELTA d")

    def fail(*_: Any) -> None:
        raise TableAlreadyExists("t")

    monkeypatch.setattr(creation, "_commit", fail)
    assert bare.refuse("CALL system.snapshot('d', 't')").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert not [path for path in bare.path("t").rglob("*") if path.is_file() and path.suffix in (".parquet", ".puffin")]


CHANGES: dict[str, Callable[[BareLake, Path], object]] = {
    "nothing": lambda bare, place: None,
    "rows of the other table": lambda bare, place: bare.append("d", {"id": [7]}),
    "deleted rows of it": lambda bare, place: _delete(bare, [0, 1]),
    "the table": lambda bare, place: bare.answer(f"ALTER TABLE iceberg.`{place}` ADD COLUMN more INT"),
    "rows of the table": lambda bare, place: bare.answer(f"DELETE FROM iceberg.`{place}`"),
}


def _delete(bare: BareLake, places: list[int]) -> None:
    """Deletes rows in the only file of the Iceberg table at `d`, which becomes a Delta table."""
    folder = bare.path("d")
    shutil.rmtree(folder, ignore_errors=True)
    columns = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    made = HandmadeTable(folder, columns=columns, version=3)
    one = made.data({"id": [1, 2, 3, 4]})
    for _ in places[1:]:
        made.data({"id": [0]})  # no file is written again
    made.commit(one)
    made.commit(*made.vectors({one["file_path"]: places}), operation="delete")
    BareLake(bare.folder).answer("CONVERT TO DELTA d")


@pytest.mark.parametrize("changed", CHANGES)
def test_a_table_without_its_name_gets_it_where_nothing_changed(tmp_path: Path, changed: str) -> None:
    bare = BareLake(tmp_path / "lake", tmp_path / "catalog")
    _delete(bare, [1])
    place = bare.folder / "far" / "t"
    call = f"CALL system.snapshot('d', 't', '{place}')"
    bare.answer(call)
    bare.sources.catalog.change(DropTable(TableName("spark_catalog", "default", "t")))
    CHANGES[changed](bare, place)
    bare = BareLake(tmp_path / "lake", tmp_path / "catalog")
    if changed != "nothing":
        assert bare.refuse(call).condition == "ICEBERG_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
        assert bare.refuse("DESCRIBE t").condition == "TABLE_OR_VIEW_NOT_FOUND"
        return
    assert bare.rows(call) == [(1,)]
    path = max((place / "metadata").glob("v*.metadata.json"))
    assert comparable(StaticTable.from_metadata(str(path)).scan().to_arrow()) == [(1,), (3,), (4,)]
    assert len(json.loads(path.read_text())["snapshots"]) == 1
    assert bare.sources.catalog.view().sources_of(str(place)) == (str(bare.path("d")),)


REFUSED = [
    ("CALL system.snapshot('nothing', 't')", "TABLE_OR_VIEW_NOT_FOUND"),
    ("CALL system.snapshot('d', 'd')", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CALL system.snapshot('i', 't')", "ICEBERG_PROCEDURE_REFUSED"),
    ("CALL system.snapshot('information_schema.tables', 't')", "ICEBERG_PROCEDURE_REFUSED"),
    ("CALL system.snapshot('d')", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("CALL system.snapshot(table => 't', source_table => 'a b')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("CALL system.snapshot('d', 't', '/etc/x')", "PATH_NOT_ALLOWED"),
    ("CALL system.snapshot('d', 't', properties => map('format-version', '9'))", "ICEBERG_PROPERTY_REFUSED"),
    ("CALL system.migrate('d')", "UNSUPPORTED_CLAUSE"),
    ("CALL system.snapshot('odd', 't')", "ICEBERG_PROCEDURE_REFUSED"),
]


@pytest.mark.parametrize(("statement", "condition"), REFUSED)
def test_invalid_snapshot_tables_are_rejected(bare: BareLake, statement: str, condition: str) -> None:
    bare.append("d", {"id": [1]})
    bare.append("odd", {"id": pa.array([1], pa.int32())})
    (log,) = (bare.path("odd") / "_delta_log").glob("*.json")
    log.write_text(log.read_text().replace('\\"type\\":\\"integer\\"', '\\"type\\":\\"string\\"'))
    bare.answer("CREATE TABLE i (id BIGINT) USING iceberg")
    error = bare.refuse(statement)
    assert error.condition == condition, error
    assert not bare.path("t").exists()
