"""The file store under crashes, lost answers, late writers and foreign files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from catalog.catalog import Catalog
from catalog.changes import Change, CreateSchema, CreateTable, DropSchema, DropTable, RenameTable, apply
from catalog.conditions import (
    CatalogOutcomeUnknown,
    CatalogUnreadable,
    StorageNotAvailable,
    StoreSchemeNotSupported,
    TableAlreadyExists,
)
from catalog.entries import FunctionEntry, SchemaEntry, TableEntry
from catalog.grants.privileges import EVERYBODY, Kind, Privilege
from catalog.grants.right_changes import CreateFunction, GrantPrivileges, RevokePrivileges, Securable
from catalog.names import SchemaName, TableName
from catalog.policies.policies import NamedPolicy, PolicyFunction, PolicyKind
from catalog.policies.policy_changes import SetRowFilter
from catalog.policies.tag_changes import CreatePolicy, SetTags
from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.file_store import GENERATIONS_RETAINED, FileStore
from catalog.store.files import Files, LocalFiles
from catalog.store.remote import open_files
from tests.catalog.faulty_files import Crash, Fault, FaultyFiles
from tests.paths import ROOT

SHOP = SchemaName("spark_catalog", "shop")


def table(name: str) -> TableEntry:
    return TableEntry(name=TableName("spark_catalog", "shop", name), location=f"/data/{name}")


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(str(tmp_path / "catalog"))


def commit(files: Files, *changes: Change) -> CatalogState:
    store = FileStore(files)
    base = store.load()
    new = apply(base, *changes)
    assert store.swap(base, new)
    return new


def paths(files: LocalFiles) -> set[str]:
    root = Path(files.root)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_the_layout_is_one_readable_file_per_object(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("Orders")))
    by_object = {path.partition("@")[0]: path for path in paths(files)}
    assert set(by_object) == {
        "objects/spark_catalog/shop",
        "objects/spark_catalog/shop/orders",
        "generations/00000000000000000001.json",
    }
    assert json.loads(files.read(by_object["objects/spark_catalog/shop/orders"])) == {
        "kind": "table",
        "catalog": "spark_catalog",
        "schema": "shop",
        "name": "Orders",
        "location": "/data/Orders",
        "format": "delta",
        "managed": False,
        "owner": None,
        "comment": None,
        "created_ms": None,
    }
    record = json.loads(files.read("generations/00000000000000000001.json"))
    assert record["changed"] == ["spark_catalog/shop", "spark_catalog/shop/orders"]
    assert record["removed"] == []


ON_ORDERS = Securable(Kind.TABLE, table("orders").name)
KEEP = FunctionEntry(name=table("keep").name, parameters=(), returns="boolean", body="TRUE", current=SHOP)
KEEP_ALL = NamedPolicy(name="all", kind=PolicyKind.ROW_FILTER, function=KEEP.name, to=(EVERYBODY,))
CHANGES: dict[str, tuple[Change, ...]] = {
    "create": (CreateTable(table("new")),),
    "several": (CreateTable(table("a")), CreateTable(table("b")), DropTable(table("orders").name)),
    "rename": (RenameTable(table("orders").name, table("moved").name),),
    "drop all": (DropSchema(SHOP, cascade=True),),
    "restrict": (
        RevokePrivileges(ON_ORDERS, EVERYBODY, (Privilege.SELECT,)),
        CreateFunction(KEEP),
        SetRowFilter(table("orders").name, PolicyFunction(KEEP.name)),
        SetTags(ON_ORDERS, "ssn", (("pii", ""),)),
        CreatePolicy(Securable(Kind.SCHEMA, SHOP), KEEP_ALL),
    ),
}


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_a_crash_at_any_write_leaves_the_old_state_or_the_new_one(tmp_path: Path, change: str, fault: Fault) -> None:
    at = 0
    while True:
        files = LocalFiles(str(tmp_path / f"catalog{at}"))
        granted = GrantPrivileges(ON_ORDERS, EVERYBODY, (Privilege.SELECT,), None)
        commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("orders")), granted)
        old = FileStore(files).load()
        new = apply(old, *CHANGES[change])
        faulty = FaultyFiles(files, fault, at)
        try:
            assert FileStore(faulty).swap(old, new)
        except Crash:
            survivor = FileStore(files).load()
            assert survivor in (old, new)
            assert commit(files, CreateTable(table("later")) if SHOP in survivor.schemas else _recreate()).generation
            at += 1
        else:
            assert faulty.writes == at  # every write there is has failed once
            assert FileStore(files).load() == new
            return


def _recreate() -> Change:
    return CreateSchema(SchemaEntry(name=SHOP))


def test_old_generations_go_with_the_files_that_they_alone_name(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("stays")))
    for number in range(GENERATIONS_RETAINED):
        entry = TableEntry(name=table("changes").name, location=f"/data/{number}")
        commit(files, CreateTable(entry, replace=True))
    remaining = sorted(files.names("generations"))
    assert [int(name[:20]) for name in remaining] == list(range(2, GENERATIONS_RETAINED + 2))
    objects = sorted(files.names("objects/spark_catalog/shop"))
    assert [name.partition("@")[0] for name in objects] == ["changes"] * GENERATIONS_RETAINED + ["stays"]
    assert set(FileStore(files).load().relations) == {table("stays").name, table("changes").name}


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_a_crash_while_old_generations_go_does_no_harm(tmp_path: Path, fault: Fault) -> None:
    for at in range(2, 4):  # 0 and 1 are the object and the generation, then come two deletions
        files = LocalFiles(str(tmp_path / f"catalog{at}"))
        commit(files, CreateSchema(SchemaEntry(name=SHOP)))
        for number in range(GENERATIONS_RETAINED - 1):
            commit(files, CreateTable(TableEntry(name=table("t").name, location=f"/{number}"), replace=True))
        # the next change lets generation 1 go, the one after it generation 2 and the file that it alone names
        commit(files, CreateTable(TableEntry(name=table("t").name, location="/a"), replace=True))
        base = FileStore(files).load()
        new = apply(base, CreateTable(TableEntry(name=table("t").name, location="/b"), replace=True))
        with pytest.raises(Crash):
            FileStore(FaultyFiles(files, fault, at)).swap(base, new)
        assert FileStore(files).load() == new
        final = commit(files, CreateTable(TableEntry(name=table("t").name, location="/c"), replace=True))
        assert FileStore(files).load() == final
        assert len(files.names("generations")) == GENERATIONS_RETAINED


@pytest.mark.parametrize("fault", [Fault.ERROR_AFTER, Fault.REPEATED])
def test_lost_put_answer_is_resolved_by_reading_back(files: LocalFiles, fault: Fault) -> None:
    new = apply(INITIAL_STATE, CreateSchema(SchemaEntry(name=SHOP)))
    store = FileStore(FaultyFiles(files, fault, at=1))
    assert store.swap(store.load(), new)
    assert FileStore(files).load() == store.load() == new


def test_a_request_that_never_arrived_is_an_error_and_changes_nothing(files: LocalFiles) -> None:
    new = apply(INITIAL_STATE, CreateSchema(SchemaEntry(name=SHOP)))
    store = FileStore(FaultyFiles(files, Fault.ERROR_BEFORE, at=1))
    with pytest.raises(OSError, match="no route"):
        store.swap(store.load(), new)
    assert FileStore(files).load() == INITIAL_STATE


def test_a_lost_answer_after_a_lost_race_is_a_lost_race(files: LocalFiles) -> None:
    faulty = FaultyFiles(files, Fault.ERROR_BEFORE, at=1)
    store = FileStore(faulty)
    base = store.load()

    def overtake(path: str) -> None:
        if path.startswith("generations") and not files.names("generations"):
            commit(files, CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", "other"))))

    faulty.before_create = overtake
    assert not store.swap(base, apply(base, CreateSchema(SchemaEntry(name=SHOP))))
    assert set(store.load().schemas) == set(FileStore(files).load().schemas)


class _DeafFiles(FaultyFiles):
    """After a failed write nothing answers."""

    def read(self, path: str) -> bytes:
        if self.writes > 1:
            raise OSError("still no route")
        return super().read(path)


def test_a_store_that_stays_silent_leaves_the_outcome_unknown(files: LocalFiles) -> None:
    store = FileStore(_DeafFiles(files, Fault.ERROR_AFTER, at=1))
    base = store.load()
    with pytest.raises(CatalogOutcomeUnknown, match="still no route"):
        store.swap(base, apply(base, CreateSchema(SchemaEntry(name=SHOP))))


def test_the_loser_of_a_race_takes_its_files_back(files: LocalFiles) -> None:
    loser = FileStore(files)
    base = loser.load()
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    before = paths(files)
    assert not loser.swap(base, apply(base, CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", "mine")))))
    assert paths(files) == before


def test_a_writer_that_slept_through_the_whole_history_loses_nothing(files: LocalFiles) -> None:
    """Its generation's number is free again when it wakes up; its change is made on the newest state instead."""
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    sleepy = FaultyFiles(files)
    slept: list[str] = []

    def sleep(path: str) -> None:
        if path.startswith("generations") and not slept:
            slept.append(path)
            for number in range(GENERATIONS_RETAINED + 5):
                commit(files, CreateTable(TableEntry(name=table("t").name, location=f"/{number}"), replace=True))

    sleepy.before_create = sleep
    Catalog(FileStore(sleepy), allowed_roots=["/data"]).change(CreateTable(table("mine")))
    state = FileStore(files).load()
    assert set(state.relations) == {table("mine").name, table("t").name}
    assert state.generation == GENERATIONS_RETAINED + 7
    assert slept[0].removeprefix("generations/") not in files.names("generations")


class StoreFiles(FaultyFiles):
    """Files as on an object store, where each listing is a request. Files are `apart_s` seconds apart."""

    def __init__(self, inner: LocalFiles, apart_s: float = 0.0) -> None:
        super().__init__(inner)
        self.lists_freely, self.apart_s = False, apart_s
        self.listings = 0

    def names(self, folder: str) -> list[str]:
        self.listings += 1
        return super().names(folder)

    def times_s(self, folder: str) -> dict[str, float]:
        self.listings += 1
        return {name: number * self.apart_s for number, name in enumerate(sorted(super().names(folder)))}


@pytest.mark.parametrize(("pause_s", "listings"), [(0.0, 1), (4.9, 1), (5.1, 2)])
def test_a_writer_that_has_just_seen_its_base_lists_nothing_again(
    files: LocalFiles, pause_s: float, listings: int
) -> None:
    now_s = [0.0]
    store_files = StoreFiles(files)
    store_files.before_create = lambda path: now_s.__setitem__(0, now_s[0] + pause_s / 2)
    store = FileStore(store_files, clock=lambda: now_s[0])
    base = store.load()
    assert store.swap(base, apply(base, CreateSchema(SchemaEntry(name=SHOP))))  # its object, and its generation
    assert store_files.listings == listings
    assert FileStore(files).load().generation == 1


@pytest.mark.parametrize(("apart_s", "remaining"), [(10.0, GENERATIONS_RETAINED), (1.0, 61)])
def test_a_generation_on_an_object_store_stays_for_some_time(files: LocalFiles, apart_s: float, remaining: int) -> None:
    store_files = StoreFiles(files, apart_s)
    store = FileStore(store_files)
    base = store.load()
    new = apply(base, CreateSchema(SchemaEntry(name=SHOP)))
    for number in range(GENERATIONS_RETAINED + 20):
        assert store.swap(base, new)
        base, new = new, apply(new, CreateTable(replace(table("t"), location=f"/{number}"), replace=True))
    assert len(files.names("generations")) == remaining
    assert FileStore(files).load() == base


def test_a_writer_on_an_object_store_that_slept_through_the_whole_history_loses_nothing(files: LocalFiles) -> None:
    now_s = [0.0]
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    sleepy = StoreFiles(files)
    slept: list[str] = []

    def sleep(path: str) -> None:
        if path.startswith("generations") and not slept:
            slept.append(path)
            now_s[0] += 3600
            for number in range(GENERATIONS_RETAINED + 5):
                commit(files, CreateTable(replace(table("t"), location=f"/{number}"), replace=True))

    sleepy.before_create = sleep
    catalog = Catalog(FileStore(sleepy, clock=lambda: now_s[0]), allowed_roots=["/data"])
    catalog.change(CreateTable(table("mine")))
    state = FileStore(files).load()
    assert set(state.relations) == {table("mine").name, table("t").name}
    assert slept[0].removeprefix("generations/") not in files.names("generations")


def test_a_change_of_a_catalog_on_an_object_store_that_is_gone_makes_no_new_one(files: LocalFiles) -> None:
    now_s = [0.0]
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    store = FileStore(StoreFiles(files), clock=lambda: now_s[0])
    base = store.load()
    shutil.rmtree(files.root)
    now_s[0] += 3600
    with pytest.raises(CatalogUnreadable, match="are gone"):
        store.swap(base, apply(base, CreateTable(table("orders"))))
    assert files.names("generations") == []


def test_a_change_that_only_an_old_state_forbids_is_made(files: LocalFiles) -> None:
    """Changes start from this server's cached state: a conflict in it is checked against a fresh one."""
    commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("orders")))
    catalog = Catalog(FileStore(files), allowed_roots=["/data"])
    catalog.view()
    commit(files, DropTable(table("orders").name))
    catalog.change(CreateTable(table("orders")))
    with pytest.raises(TableAlreadyExists):
        catalog.change(CreateTable(table("orders")))


def test_a_reader_whose_generation_goes_away_reads_the_newer_one(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))

    class SlowReads(FaultyFiles):
        is_first = True

        def read(self, path: str) -> bytes:
            if self.is_first:
                self.is_first = False
                for number in range(GENERATIONS_RETAINED + 1):
                    commit(files, CreateTable(TableEntry(name=table("t").name, location=f"/{number}"), replace=True))
            return super().read(path)

    assert FileStore(SlowReads(files)).load().generation == GENERATIONS_RETAINED + 2


def test_loading_an_unchanged_catalog_reads_no_file(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    reads: list[str] = []

    class Counting(FaultyFiles):
        def read(self, path: str) -> bytes:
            reads.append(path)
            return super().read(path)

    store = FileStore(Counting(files))
    first = store.load()
    assert len(reads) == 2  # the generation and the schema
    assert store.load() is first
    assert len(reads) == 2
    commit(files, CreateTable(table("t")))
    store.load()
    assert len(reads) == 4  # the generation and its changed files


def test_an_operator_can_go_back_to_an_older_generation(files: LocalFiles) -> None:
    """Follows the runbook: with all servers stopped, later generations are moved away."""
    commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("orders")))
    wanted = commit(files, CreateTable(TableEntry(name=table("orders").name, location="/wanted"), replace=True))
    commit(files, CreateTable(TableEntry(name=table("orders").name, location="/mistake"), replace=True))
    commit(files, DropSchema(SHOP, cascade=True))
    for number in (3, 4):
        (Path(files.root) / f"generations/{number:020}.json").unlink()
    assert FileStore(files).load() == wanted
    commit(files, CreateTable(table("more")))
    assert set(FileStore(files).load().relations) == {table("orders").name, table("more").name}


def test_a_copy_made_while_others_write_is_whole_if_generations_are_copied_first(
    files: LocalFiles, tmp_path: Path
) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)), CreateTable(table("a")))
    shutil.copytree(Path(files.root) / "generations", tmp_path / "copy/generations")
    for number in range(GENERATIONS_RETAINED - 1):
        commit(files, CreateTable(TableEntry(name=table("a").name, location=f"/{number}"), replace=True))
    shutil.copytree(Path(files.root) / "objects", tmp_path / "copy/objects")
    copy = FileStore(LocalFiles(str(tmp_path / "copy"))).load()
    assert copy.generation == 1
    assert copy.relations[table("a").name] == table("a")


def _damage(path: Path, damage: str) -> None:
    match damage:
        case "gone":
            path.unlink()
        case "no JSON":
            path.write_bytes(b"\xff{")
        case "another object":
            path.write_text(path.read_text().replace('"shop"', '"other"'))
        case "no object":
            path.write_text("[]")
        case _:
            path.write_text(path.read_text().replace('"format": 1', '"format": 2'))


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        ("objects/spark_catalog/shop@*", "gone"),
        ("objects/spark_catalog/shop@*", "no JSON"),
        ("objects/spark_catalog/shop@*", "another object"),
        ("objects/spark_catalog/shop@*", "no object"),
        ("generations/*", "no JSON"),
        ("generations/*", "no object"),
        ("generations/*", "newer format"),
    ],
)
def test_a_damaged_file_is_named(files: LocalFiles, pattern: str, damage: str) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    (path,) = Path(files.root).glob(pattern)
    _damage(path, damage)
    with pytest.raises(CatalogUnreadable, match="generations/|objects/") as caught:
        FileStore(files).load()
    assert str(path.parent.relative_to(files.root)) in str(caught.value)


def test_files_of_others_are_left_alone(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    for name in ("README", "00000000000000000009.json.abc.tmp", "9.json"):
        (Path(files.root) / "generations" / name).write_text("?")
    assert FileStore(files).load().generation == 1


class _CheckThenWrite(MemoryFileSystem):
    """A scheme whose `mode="create"` may be a check followed by a write, for all we know."""

    protocol = ("checkthenwrite",)


def test_a_scheme_without_atomic_create_is_refused_by_name() -> None:
    fsspec.register_implementation("checkthenwrite", _CheckThenWrite, clobber=True)
    store = FileStore(open_files("checkthenwrite://host/catalog"))
    assert store.load() == INITIAL_STATE
    with pytest.raises(StoreSchemeNotSupported, match="(?s)'checkthenwrite'.*file, abfs"):
        store.swap(INITIAL_STATE, apply(INITIAL_STATE, CreateSchema(SchemaEntry(name=SHOP))))
    assert store.load() == INITIAL_STATE


def test_a_scheme_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(StorageNotAvailable, match="nosuchscheme://host/catalog"):
        open_files("nosuchscheme://host/catalog")


_WRITER = """
import sys
from catalog.catalog import Catalog
from catalog.changes import CreateTable
from catalog.entries import TableEntry
from catalog.store.file_store import FileStore
from catalog.names import TableName
from catalog.store.remote import open_files
folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
catalog = Catalog(FileStore(open_files(folder)), allowed_roots=["/data"])
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, first + count):
    catalog.change(CreateTable(TableEntry(name=TableName("spark_catalog", "shop", f"t{number}"), location="/data/t")))
"""


def test_processes_that_change_at_once_lose_nothing(files: LocalFiles) -> None:
    commit(files, CreateSchema(SchemaEntry(name=SHOP)))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, files.root, str(which * 20), "20"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for which in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n")
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert set(FileStore(files).load().relations) == {table(f"t{number}").name for number in range(60)}
