"""A server is killed at any system call in a DROP or CREATE: the next one finds a complete table, or none."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog
from catalog.conditions import CatalogNotWritable, DropByPath, SchemaNotRemovable, TableNotFound, TableNotRemovable
from catalog.discovery.discovery import ServedFolder
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.names import SchemaName
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles, LocalTree
from engine.binding.sources import Sources
from engine.delta.snapshot.snapshot import load_snapshot
from engine.formats.delta.delta_format import DeltaFormat
from engine.main import EngineOptions, remove_leftovers
from engine.planning.plans.ddl import CatalogPlan, CreateTablePlan, DropSchemaPlan, DropTablePlan
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.statements.containers import execution as drops
from engine.statements.containers.execution import drop_schema, drop_table
from engine.storage import unlisted_folders
from engine.storage.storage import UNLISTED_MARK, LocalStorage, Storage, open_storage
from engine.tables.formats import formats_of
from tests.engine.planned import make_table, planned
from tests.interleave.storages import Interposed
from tests.interleave.test_crashes import Crash, Fuse

STATE = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
SHOP = SchemaName("spark_catalog", "shop")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Lake:
    """A served folder, and one server after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.restart()

    def restart(self) -> None:
        own = f"{self.root}/.catalog"
        self.catalog = Catalog(FileStore(LocalFiles(own)), ServedFolder(LocalTree(str(self.root))), (), own)

    def run(self, *texts: str) -> None:
        """Runs statements through the pipeline without Spark."""
        for text in texts:
            plan = planned(text, STATE, Sources(catalog=self.catalog, formats=formats_of(DeltaFormat(load_snapshot))))
            match plan:
                case CreateTablePlan():
                    make_table(plan, self.catalog, 0)
                case DropTablePlan():
                    drop_table(plan, self.catalog, lambda _: None)
                case DropSchemaPlan():
                    drop_schema(plan, self.catalog, lambda _: None)
                case CatalogPlan():
                    assert plan.change is not None
                    self.catalog.change(plan.change)
                case _:
                    raise AssertionError(plan)

    def clean(self) -> None:
        """Cleans up as a server does at start."""
        options = EngineOptions(lake_folder=str(self.root), catalog_folder=f"{self.root}/.catalog", leftovers_age_s=-60)
        remove_leftovers(options, self.catalog)

    def tables(self) -> list[str]:
        """Returns the readable tables' content by name."""
        found = self.catalog.view().find_relations(None, lambda _: True, lambda _: True)
        tables = [entry for entry in found if isinstance(entry, TableEntry)]
        for entry in tables:
            load_snapshot(entry.location)
        return [".".join(entry.name.parts[1:]) for entry in tables]

    def left(self) -> list[str]:
        """Files, but the catalog's own."""
        return [str(path) for path in self.root.rglob("*") if path.is_file() and ".catalog" not in path.parts]


def killed_at_every_call(root: Path, before: tuple[str, ...], text: str) -> list[Lake]:
    """Yields the lake after each kill, with another server on it."""
    lakes: list[Lake] = []
    while True:
        lake, fuse = Lake(root / str(len(lakes))), Fuse(len(lakes))
        lake.run(*before)
        with pytest.MonkeyPatch.context() as patched:
            for name in ("link", "unlink", "rename", "rmdir", "mkdir", "open"):
                patched.setattr(os, name, _fused(getattr(os, name), fuse))
            try:
                lake.run(text)
            except Crash:
                pass
            else:
                return lakes
        lake.restart()
        lakes.append(lake)


def _fused(call: Callable[..., Any], fuse: Fuse) -> Callable[..., Any]:
    def burn_and_call(*arguments: Any, **options: Any) -> Any:
        fuse.burn()
        return call(*arguments, **options)

    return burn_and_call


DROPS = [
    (("CREATE TABLE t (a INT)",), "DROP TABLE t"),
    (("CREATE SCHEMA shop", "CREATE TABLE shop.t (a INT)", "CREATE TABLE shop.u (a INT)"), "DROP SCHEMA shop CASCADE"),
]


@pytest.mark.parametrize(("before", "text"), DROPS, ids=["table", "schema"])
def test_a_killed_drop_leaves_a_table_that_can_be_dropped_or_none(
    tmp_path: Path, before: tuple[str, ...], text: str
) -> None:
    lakes = killed_at_every_call(tmp_path, before, text)
    assert len(lakes) > 10
    hidden = 0
    for lake in lakes:
        there = lake.tables()
        recorded = {".".join(name.parts[1:]) for name in lake.catalog.view().state.relations}
        assert set(there) == recorded, "a table came back that was dropped"
        assert there or SHOP not in {entry.name for entry in lake.catalog.view().find_schemas(None)}
        hidden += not there and any("_delta_log" in path and ".removed-" not in path for path in lake.left())
        lake.clean()
        assert lake.tables() == there
        if there:
            lake.run(text)
        assert lake.left() == []
        lake.run(*before)
        assert lake.tables()
        lake.run(text)
        assert (lake.tables(), lake.left()) == ([], [])
    assert hidden, "no kill was between a name and its files"


def test_before_the_clean_up_a_new_table_gets_another_folder(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("CREATE TABLE t (a INT)")
    kill_before_removal(lake, "DROP TABLE t")
    assert lake.tables() == []
    lake.run("CREATE TABLE t (b INT)")
    lake.clean()
    assert lake.tables() == ["default.t"]
    assert all("default/t-" in path for path in lake.left())


def test_table_written_by_path_after_a_kill_is_retained(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("CREATE TABLE t (a INT)")
    kill_before_removal(lake, "DROP TABLE t")
    mark, commit = tmp_path / "default/t" / UNLISTED_MARK, tmp_path / f"default/t/_delta_log/{0:020}.json"
    os.utime(mark, (commit.stat().st_mtime - 5,) * 2)
    lake.clean()
    assert commit.exists() and lake.tables() == []


def test_the_table_of_another_catalog_or_a_running_statement_is_not_removed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run("CREATE TABLE t (a INT)")
    kill_before_removal(lake, "DROP TABLE t")
    young = EngineOptions(lake_folder=str(tmp_path), leftovers_age_s=3600)
    remove_leftovers(young, lake.catalog)
    other = Catalog(FileStore(LocalFiles(f"{tmp_path}/.other")), None, (str(tmp_path),), f"{tmp_path}/.other")
    remove_leftovers(EngineOptions(lake_folder=str(tmp_path), leftovers_age_s=-60), other)
    assert len(lake.left()) == 2


def kill_before_removal(lake: Lake, text: str) -> None:
    def gone(storage: LocalStorage) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalStorage, "delete_tree", gone)
        with pytest.raises(Crash):
            lake.run(text)
    lake.restart()


CREATE = "CREATE TABLE t (a INT)"


def test_a_killed_create_leaves_a_table_that_can_be_dropped_or_none(tmp_path: Path) -> None:
    lakes = killed_at_every_call(tmp_path, (), CREATE)
    hidden = 0
    for lake in lakes:
        there = lake.tables()
        assert bool(there) == bool(lake.catalog.view().state.relations), "a table that cannot be dropped"
        hidden += not there and any(path.endswith(".json") for path in lake.left())
        if not there:
            lake.run(CREATE)
        lake.clean()
        assert lake.tables() == ["default.t"]
        lake.run("DROP TABLE t")
        assert (lake.tables(), lake.left()) == ([], [])
    assert hidden, "no kill was between the log and the name"


# --- Disks that cannot be written -------------------------------------------------------------------------------------


def use_storage(monkeypatch: pytest.MonkeyPatch, *methods: str, below: str) -> None:
    """A disk on which these calls fail for tables below a folder."""

    def opened(path: str, allowed_roots: Any = None) -> Storage:
        def around(method: str, name: str, do: Callable[[], Any]) -> Any:
            if method in methods and below in path:
                raise OSError(errno.EROFS, "Read-only file system")
            return do()

        return Interposed(open_storage(path, allowed_roots=allowed_roots), around)

    for module in (drops, unlisted_folders):
        monkeypatch.setattr(module, "open_storage", opened)


def shop(root: Path) -> Lake:
    lake = Lake(root)
    lake.run("CREATE SCHEMA shop COMMENT 'kept'")
    lake.run(*[f"CREATE TABLE shop.{name} (a INT)" for name in "tuv"])
    return lake


def test_a_schema_on_a_disk_that_cannot_be_written_is_not_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = shop(tmp_path)
    before = lake.catalog.view().state
    use_storage(monkeypatch, "put", "remove", below="/shop/u")
    for text in ("DROP SCHEMA shop CASCADE", "DROP TABLE shop.u", "DROP TABLE IF EXISTS shop.u"):
        with pytest.raises(TableNotRemovable, match="`shop`.`u`.*Read-only file system"):
            lake.run(text)
    assert lake.catalog.view().state == before
    assert not list(tmp_path.rglob(UNLISTED_MARK))
    assert lake.tables() == ["shop.t", "shop.u", "shop.v"]


def test_a_schema_names_the_tables_that_stay_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk became read-only, or a folder was found to be somebody else's, after the names were gone."""
    lake = shop(tmp_path)
    schema = lake.catalog.view().schema(SHOP)
    use_storage(monkeypatch, "remove", below="/shop/u")
    with pytest.raises(SchemaNotRemovable, match="`shop`.`u` at .*Read-only file system"):
        lake.run("DROP SCHEMA shop CASCADE")
    assert lake.tables() == ["shop.u"]
    assert lake.catalog.view().schema(SHOP) == schema
    lake.restart()
    monkeypatch.undo()
    lake.run("DROP SCHEMA shop CASCADE")
    assert (lake.tables(), lake.left()) == ([], [])


def test_a_catalog_that_cannot_be_written_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = shop(tmp_path)

    def create(files: LocalFiles, path: str, data: bytes) -> bool:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(LocalFiles, "create", create)
    for text in ("DROP SCHEMA shop CASCADE", "DROP TABLE shop.u"):
        with pytest.raises(CatalogNotWritable):
            lake.run(text)
    assert not list(tmp_path.rglob(UNLISTED_MARK))
    assert lake.tables() == ["shop.t", "shop.u", "shop.v"]


# --- Paths ------------------------------------------------------------------------------------------------------------


def test_a_path_is_no_name_to_drop(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.run(CREATE, "CREATE TABLE delta.`PATH/by/path` (a INT)".replace("PATH", str(tmp_path)))
    refusals: list[tuple[str, type[SqlError], str]] = [
        (f"{tmp_path}/default/t", DropByPath, "The table there is `spark_catalog`.`default`.`t`."),
        (f"{tmp_path}/by/path", DropByPath, "no record"),
        ("/elsewhere", SqlError, "PATH_NOT_ALLOWED"),
    ]
    for path, error, text in refusals:
        for clause in ("", "IF EXISTS "):
            with pytest.raises(error) as caught:
                lake.run(f"DROP TABLE {clause}delta.`{path}`")
            assert text in f"{caught.value.condition} {caught.value.full_message}"
    assert sorted(lake.tables()) == ["by.path", "default.t"]
    with pytest.raises(TableNotFound):
        lake.run(f"DROP TABLE delta.`{tmp_path}/nothing`")
    lake.run(f"DROP TABLE IF EXISTS delta.`{tmp_path}/nothing`")
