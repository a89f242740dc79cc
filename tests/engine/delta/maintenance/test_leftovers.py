"""Cleanup at start removes killed writers' leftovers, and nothing that may still be needed."""

from __future__ import annotations

import os
from pathlib import Path

from catalog.catalog import Catalog
from catalog.changes import CreateSchema, DropSchema
from catalog.entries import SchemaEntry
from catalog.names import SchemaName
from catalog.store.file_store import FileStore, remove_catalog_leftovers
from catalog.store.files import LocalFiles
from catalog.store.store import MemoryStore
from engine.delta.maintenance.leftovers import remove_lake_leftovers
from engine.main import EngineOptions, remove_leftovers
from engine.storage.put_if_absent import temporary_path
from tests.catalog.faulty_files import Crash, Fault, FaultyFiles

TOKEN = "0123456789abcdef0123456789abcdef"
# All files are older than this time, and none is older than 0.
LATER = 4e9

REMOVED = [
    f"a/t/_delta_log/.{0:020}.json.{TOKEN}.tmp",
    f"a/t/_delta_log/._last_checkpoint.{TOKEN}.tmp",
    f"a/t/_delta_log/_sidecars/.x.parquet.{TOKEN}.tmp",
    f"killed/_delta_log/.{0:020}.json.{TOKEN}.tmp",
    f"a/.removed-{TOKEN}/_delta_log/{0:020}.json",
    f"a/.removed-{TOKEN}/part-0.parquet",
]
RETAINED = [
    f"a/t/_delta_log/{0:020}.json",
    f"a/t/_delta_log/.{0:020}.json.crc",
    "a/t/_delta_log/x.tmp",
    "a/t/_delta_log/.x.tmp",
    f"a/t/.x.{TOKEN}.tmp",
    "a/t/part-0.parquet",
    f"a/t/.removed-{TOKEN}/part-0.parquet",
    f"a/.removed-{TOKEN[1:]}/x",
    f"a/removed-{TOKEN}/x",
    f".other/_delta_log/.x.{TOKEN}.tmp",
]


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def test_of_a_lake_only_what_is_surely_ours_goes(tmp_path: Path) -> None:
    write(tmp_path, *REMOVED, *RETAINED, f"_delta_log/{0:020}.json")  # the lake itself is a table
    assert remove_lake_leftovers(str(tmp_path), LATER) == 5
    assert files(tmp_path) == sorted([*RETAINED, f"_delta_log/{0:020}.json"])


def test_the_young_stay_but_for_dropped_tables(tmp_path: Path) -> None:
    write(tmp_path, *REMOVED)
    assert remove_lake_leftovers(str(tmp_path), 0) == 1
    assert files(tmp_path) == sorted(name for name in REMOVED if ".removed-" not in name)


def test_the_names_that_we_write_are_those_that_go(tmp_path: Path) -> None:
    path = temporary_path(str(tmp_path / "t/_delta_log/x.json"))
    write(tmp_path, os.path.relpath(path, tmp_path))
    assert remove_lake_leftovers(str(tmp_path), LATER) == 1


def schema(name: str) -> SchemaEntry:
    return SchemaEntry(name=SchemaName("spark_catalog", name))


def test_of_the_catalog_what_no_generation_names_goes(tmp_path: Path) -> None:
    root = str(tmp_path)
    catalog = Catalog(FileStore(LocalFiles(root)))
    catalog.change(CreateSchema(schema("one")))
    catalog.change(CreateSchema(schema("odd %")))
    catalog.change(DropSchema(schema("one").name))
    remaining = files(tmp_path)
    killed = Catalog(FileStore(FaultyFiles(LocalFiles(root), Fault.CRASH_AFTER, at=0)))
    try:
        killed.change(CreateSchema(schema("two")))
    except Crash:
        pass
    write(tmp_path, f"generations/{9:020}.json.{TOKEN}.tmp", f"objects/spark_catalog/x@1-01234567.json.{TOKEN}.tmp")
    write(tmp_path, "objects/notes.txt")
    assert len(files(tmp_path)) == len(remaining) + 4
    assert remove_catalog_leftovers(root, 0) == 0
    assert remove_catalog_leftovers(root, LATER) == 3
    assert files(tmp_path) == sorted([*remaining, "objects/notes.txt"])
    assert Catalog(FileStore(LocalFiles(root))).view().generation == 3


def test_where_a_generation_cannot_be_read_objects_stay(tmp_path: Path) -> None:
    write(tmp_path, f"generations/{1:020}.json", "objects/spark_catalog/x@1-01234567.json")
    assert remove_catalog_leftovers(str(tmp_path), LATER) == 0


def test_a_start_cleans_both_folders_and_survives_what_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, f"lake/t/_delta_log/.x.{TOKEN}.tmp", f"lake/.catalog/generations/x.json.{TOKEN}.tmp")
    for path in tmp_path.rglob("*.tmp"):
        os.utime(path, (1, 1))
    lake = str(tmp_path / "lake")
    remove_leftovers(EngineOptions(lake_folder=lake, catalog_folder=f"{lake}/.catalog"), Catalog(MemoryStore()))
    assert files(tmp_path) == []
    remove_leftovers(
        EngineOptions(lake_folder=f"{lake}/nothing", catalog_folder="s3://bucket/catalog"), Catalog(MemoryStore())
    )
