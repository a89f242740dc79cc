"""CLONE and CONVERT TO DELTA without Spark, over tables from another writer, read by that writer and DuckDB."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from catalog.errors import SqlError
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.metadata_changes import change_table
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.main import EngineOptions, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.storage.deletion_vectors import (
    DELETION_VECTOR,
    RELATIVE,
    format_file,
    format_rows,
    relative_deletion_vector,
    vector_file_name,
)
from engine.tables.definition_changes import SetProperty
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.contexts import run_on
from tests.engine.parsed import parse_one
from tests.engine.peer_readers import PEERS

STATE = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
Run = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    made = tmp_path / "a lake"
    (made / "default").mkdir(parents=True)
    return made


@pytest.fixture
def run(lake: Path) -> Run:
    """Returns the rows that a statement answers."""
    sources = open_sources(EngineOptions(lake_folder=str(lake)))

    def run(text: str) -> list[dict[str, Any]]:
        request = StatementRequest(identity=Identity("ann"))
        result = run_on(parse_one(text), STATE, sources, None, request).result
        rows: list[dict[str, Any]] = pa.Table.from_batches(result.batches(), result.schema).to_pylist()
        return rows

    return run


def write(lake: Path, name: str, first: int, **options: Any) -> None:
    """Appends one file, or one in each partition if there are two."""
    table = pa.table({"k": range(first, first + 10), "p": [f"{k % 2} é%" for k in range(10)]})
    write_deltalake(lake / "default" / name, table, mode="append", **options)


def ks(lake: Path, name: str) -> list[int]:
    return [k for (k,) in PEERS["deltalake"](lake / "default" / name, ["k"])]


def delete_with_vectors(lake: Path, name: str) -> None:
    """Deletes the first row in each file without a deletion vector; all new vectors share one file."""
    snapshot = load_snapshot(str(lake / "default" / name))
    description = CommitDescription(name="DELETE", operation=TableOperation.DML)
    transaction = Transaction.on(snapshot, description)
    transaction.define(change_table(snapshot.config, [SetProperty(key="delta.enableDeletionVectors", value="true")]))
    bare = snapshot.files.filter(snapshot.files["deletion_vector"].is_null())
    data = format_rows(np.array([0]))
    content, offsets = format_file([data] * bare.num_rows)
    token = uuid.uuid4()
    snapshot.storage.write(vector_file_name(token), content)
    vectors = [
        {
            "storage_type": RELATIVE,
            "path_or_inline_dv": relative_deletion_vector(token),
            "offset": offset,
            "size_in_bytes": len(data),
            "cardinality": 1,
        }
        for offset in offsets
    ]
    at = bare.schema.get_field_index("deletion_vector")
    with_deletes = bare.set_column(at, bare.schema.field(at), pa.array(vectors, DELETION_VECTOR))
    transaction.read_whole_table()
    transaction.stage_removes(bare)
    for batch in with_deletes.combine_chunks().to_batches():
        transaction.stage_adds(batch)
    transaction.commit()


def files_of(lake: Path, name: str) -> list[str]:
    folder = lake / "default" / name
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and "_delta_log" not in str(path)
    )


@pytest.mark.parametrize("partitions", [None, ["p"]])
@pytest.mark.parametrize("kind", ["SHALLOW", "DEEP"])
def test_rows_files_and_what_the_log_says(lake: Path, run: Run, kind: str, partitions: list[str] | None) -> None:
    write(lake, "s", 0, partition_by=partitions)
    write(lake, "s", 10, partition_by=partitions)
    delete_with_vectors(lake, "s")
    expected, source = ks(lake, "s"), load_snapshot(str(lake / "default" / "s"))
    (answer,) = run(f"CREATE TABLE c {kind} CLONE s TBLPROPERTIES ('x' = 'y')")
    assert ks(lake, "c") == expected and len(expected) == 20 - source.num_files
    if kind == "DEEP":
        assert [k for (k,) in PEERS["duckdb"](lake / "default" / "c", ["k"])] == expected
    clone = load_snapshot(str(lake / "default" / "c"))
    assert (clone.version, clone.num_files, clone.size_bytes) == (0, source.num_files, source.size_bytes)
    assert clone.metadata.id != source.metadata.id and clone.metadata.configuration["x"] == "y"
    assert clone.protocol == source.protocol and clone.schema == source.schema
    assert sorted(clone.files["stats"].to_pylist()) == sorted(source.files["stats"].to_pylist())
    copied = source.num_files if kind == "DEEP" else 0
    assert answer["num_copied_files"] == copied and answer["copied_files_size"] == (source.size_bytes if copied else 0)
    assert len(files_of(lake, "c")) == (copied + 1 if copied else 0)
    assert clone.commit_info is not None and clone.commit_info.operation == "CLONE"


def test_only_what_is_new_is_copied(lake: Path, run: Run) -> None:
    write(lake, "s", 0)
    write(lake, "s", 10)
    delete_with_vectors(lake, "s")
    run("CREATE TABLE c DEEP CLONE s")
    write(lake, "s", 20)
    (answer,) = run("CREATE OR REPLACE TABLE c DEEP CLONE s")
    assert (answer["num_copied_files"], answer["num_removed_files"]) == (1, 0) and ks(lake, "c") == ks(lake, "s")
    delete_with_vectors(lake, "s")  # a vector alone is new
    (answer,) = run("CREATE OR REPLACE TABLE c DEEP CLONE s")
    assert (answer["num_copied_files"], answer["num_removed_files"]) == (0, 1) and ks(lake, "c") == ks(lake, "s")
    before = ks(lake, "c")
    write(lake, "c", 50)
    (answer,) = run("CREATE OR REPLACE TABLE c DEEP CLONE s")
    assert (answer["num_copied_files"], answer["num_removed_files"]) == (0, 1) and ks(lake, "c") == before
    (answer,) = run("CREATE OR REPLACE TABLE c DEEP CLONE s VERSION AS OF 0")
    assert ks(lake, "c") == list(range(10)) and answer["num_removed_files"] == 3
    assert load_snapshot(str(lake / "default" / "c"), 1).num_files == 3


def test_rows_deleted_in_the_clone_come_back(lake: Path, run: Run) -> None:
    write(lake, "s", 0)
    run("CREATE TABLE c DEEP CLONE s TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    delete_with_vectors(lake, "c")
    assert ks(lake, "c") == list(range(1, 10))
    run("CREATE OR REPLACE TABLE c DEEP CLONE s")
    assert ks(lake, "c") == list(range(10))


def test_clones_of_clones(lake: Path, run: Run) -> None:
    write(lake, "s", 0)
    delete_with_vectors(lake, "s")
    run("CREATE TABLE one SHALLOW CLONE s")
    run("CREATE TABLE two SHALLOW CLONE one")
    run("CREATE TABLE deep CLONE two")
    write(lake, "two", 10)
    run("CREATE TABLE three SHALLOW CLONE two")
    run("CREATE OR REPLACE TABLE deep CLONE two")
    assert ks(lake, "deep") == ks(lake, "three") == ks(lake, "two") and len(ks(lake, "two")) == 19
    assert {
        path.startswith("file:/") and not path.startswith("file://")
        for path in load_snapshot(str(lake / "default" / "three")).files["log_path"].to_pylist()
    } == {True}
    (lake / "default" / "s").rename(lake / "default" / "gone")
    assert len(ks(lake, "deep")) == 19


def test_clones_are_refused_with_all_that_they_wrote_taken_back(lake: Path, run: Run) -> None:
    write(lake, "s", 0)
    write(lake, "s", 10)
    lost = load_snapshot(str(lake / "default" / "s")).files["path"].to_pylist()[0]
    (lake / "default" / "s" / lost).unlink()
    for kind in ("DEEP CLONE s", "SHALLOW CLONE s VERSION AS OF 1"):
        with pytest.raises(SqlError) as refused:
            run(f"CREATE TABLE c {kind}")
        assert refused.value.condition == "CLONE_FILE_NOT_FOUND"
        assert not (lake / "default" / "c").exists() or not files_of(lake, "c")
    with pytest.raises(SqlError) as refused:
        run("CREATE OR REPLACE TABLE s CLONE s")
    assert refused.value.condition == "DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE"


def test_a_folder_is_converted(lake: Path, run: Run) -> None:
    folder = lake / "raw" / "t"
    for p in ("1", "__HIVE_DEFAULT_PARTITION__"):
        (folder / f"p={p}").mkdir(parents=True)
        pq.write_table(pa.table({"k": [1, 2], "s": ["a", None]}), folder / f"p={p}" / "x y.parquet")
    run(f"CONVERT TO DELTA parquet.`{folder}` PARTITIONED BY (p INT)")
    for peer in PEERS.values():
        assert peer(folder, ["k", "s", "p"]) == [(1, "a", 1), (1, "a", None), (2, None, 1), (2, None, None)]
    snapshot: Snapshot = load_snapshot(str(folder))
    assert pc.sum(snapshot.files["size"]).as_py() == snapshot.size_bytes > 0
    run("CREATE TABLE c CLONE raw.t")
    assert PEERS["duckdb"](lake / "default" / "c", ["k", "p"]) == [(1, 1), (1, None), (2, 1), (2, None)]
    run(f"CONVERT TO DELTA parquet.`{folder}`")
    assert load_snapshot(str(folder)).version == 0


DEFINED = {
    # clauses -> properties that the clone has, and lacks
    "TBLPROPERTIES ('delta.enableRowTracking' = 'true')": ((), ("delta.enableRowTracking", "delta.rowTracking.")),
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')": (("delta.columnMapping.mode",), ()),
    "TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')": (("delta.enableInCommitTimestamps",), ()),
    "CLUSTER BY (k)": ((), ()),
}


@pytest.mark.parametrize("clauses", DEFINED)
def test_the_definition_without_the_past(lake: Path, run: Run, clauses: str) -> None:
    run(f"CREATE TABLE s (k INT NOT NULL COMMENT 'c', v STRING) {clauses}")
    run("ALTER TABLE s ADD COLUMNS (w DATE)")
    run("CREATE TABLE c SHALLOW CLONE s")
    run("CREATE TABLE other (z INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    run("CREATE OR REPLACE TABLE other DEEP CLONE s")
    source = load_snapshot(str(lake / "default" / "s"))
    has, lacks = DEFINED[clauses]
    for name in ("c", "other"):
        clone = load_snapshot(str(lake / "default" / name))
        assert clone.schema == source.schema and clone.config.features >= source.config.features
        settings = clone.metadata.configuration
        assert set(has) <= settings.keys() and not [key for key in settings if key.startswith(lacks or ("none",))]
        assert clone.details.clustering_columns == source.details.clustering_columns
    assert load_snapshot(str(lake / "default" / "other"), 0).schema.names == ("z",)


def test_clones_are_detected_by_referenced_files(lake: Path) -> None:
    sources = open_sources(EngineOptions(lake_folder=str(lake)))

    def run(text: str) -> None:
        run_on(parse_one(text), STATE, sources, None, StatementRequest(identity=Identity("ann")))

    place = str(lake / "default")
    run("CREATE TABLE first (a INT)")
    run("CREATE TABLE second SHALLOW CLONE first")
    run("CREATE TABLE third SHALLOW CLONE second@v0")
    run(f"CREATE TABLE delta.`{lake}/at/path` SHALLOW CLONE delta.`{place}/first@v0`")
    run("CREATE TABLE apart DEEP CLONE third")
    known, expected = sources.catalog.view(), (str(lake / "at" / "path"), f"{place}/second", f"{place}/third")
    assert known.clones_of(f"{place}/first") == expected
    assert known.clones_of(f"{place}/second") == (f"{place}/third",) and known.clones_of(f"{place}/apart") == ()
    run("DROP TABLE third")
    assert sources.catalog.view().clones_of(f"{place}/first") == expected[:2]


def test_vacuum_retains_files_of_clones(lake: Path) -> None:
    sources = open_sources(EngineOptions(lake_folder=str(lake)))
    settings = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
    state = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default", values=settings)

    def run(text: str) -> None:
        run_on(parse_one(text), state, sources, None, StatementRequest(identity=Identity("ann")))

    write(lake, "s", 0)
    write(lake, "unrelated", 0)
    delete_with_vectors(lake, "s")
    run(f"CREATE TABLE delta.`{lake}/path` SHALLOW CLONE s")
    remaining = set(files_of(lake, "s"))
    write(lake, "s", 100)
    for name in ("s", "unrelated"):
        run(f"TRUNCATE TABLE {name}")
        run(f"VACUUM {name} RETAIN 0 HOURS")
    assert set(files_of(lake, "s")) == remaining and not files_of(lake, "unrelated")
    assert len(PEERS["deltalake"](lake / "path", ["k"])) == 9
