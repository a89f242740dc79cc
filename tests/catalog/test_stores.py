"""One behaviour for every store."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.catalog import Catalog
from catalog.changes import (
    Change,
    CreateCatalog,
    CreateSchema,
    CreateTable,
    CreateView,
    DropSchema,
    DropTable,
    RenameTable,
    apply,
)
from catalog.conditions import TableAlreadyExists
from catalog.entries import CatalogEntry, Entry, SchemaEntry, TableEntry, ViewEntry
from catalog.names import CatalogName, SchemaName, TableName
from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.changes import ChangeSearch
from catalog.store.entry_json import to_json
from catalog.store.file_store import _CATALOG, GENERATIONS_RETAINED, FileStore, GenerationStore
from catalog.store.files import Files
from catalog.store.remote import open_files
from catalog.store.store import CatalogStore, MemoryStore

Reopen = Callable[[], CatalogStore]
SHOP = SchemaName("spark_catalog", "Shop")


@pytest.fixture(params=["memory", "local", "fsspec"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    """Opens the same store as another server would; in memory there is only one."""
    match request.param:
        case "memory":
            store = MemoryStore()
            return lambda: store
        case "local":
            return lambda: FileStore(open_files(str(tmp_path / "catalog")))
        case _:
            url = f"memory://catalog-{uuid.uuid4().hex}/c"
            return lambda: FileStore(open_files(url))


def table(number: int, schema: SchemaName = SHOP) -> TableEntry:
    return TableEntry(name=TableName(schema.catalog, schema.schema, f"T{number}"), location=f"/data/{number}")


def as_json(state: CatalogState) -> list[dict[str, object]]:
    return sorted((to_json(entry) for entry in state.entries()), key=str)


def test_a_new_store_holds_the_default_schema(reopen: Reopen) -> None:
    assert reopen().load() == INITIAL_STATE


STEPS: list[Change] = [
    CreateSchema(SchemaEntry(name=SHOP, comment="what we sell", extra={"color": "blue"})),
    CreateTable(table(1)),
    CreateView(
        ViewEntry(name=TableName("spark_catalog", "shop", "v"), text="SELECT '…' FROM T1", current=SHOP, owner="ada")
    ),
    CreateCatalog(CatalogEntry(name=CatalogName("lab"))),
    CreateTable(TableEntry(name=TableName("spark_catalog", "shop", "o%2Fdd~@ né." * 20), location="/x")),
    CreateTable(TableEntry(name=TableName("spark_catalog", "shop", "o%2Fdd~@ né." * 20 + "!"), location="/y")),
    CreateTable(TableEntry(name=table(1).name, location="/data/other"), replace=True),
    RenameTable(table(1).name, TableName("spark_catalog", "SHOP", "t1")),
    DropTable(TableName("spark_catalog", "shop", "T1")),
    DropSchema(SHOP, cascade=True),
]


def test_swapped_generation_is_loaded_again_after_each_change(reopen: Reopen) -> None:
    expected = INITIAL_STATE
    writer = reopen()
    for step in STEPS:
        expected = apply(expected, step)
        assert writer.swap(writer.load(), expected)
        assert as_json(reopen().load()) == as_json(writer.load()) == as_json(expected)
        assert reopen().load().generation == expected.generation


def test_the_second_of_two_writers_loses_and_sees_what_won(reopen: Reopen) -> None:
    one, two = reopen(), reopen()
    base_one, base_two = one.load(), two.load()
    assert one.swap(base_one, apply(base_one, CreateSchema(SchemaEntry(name=SHOP))))
    assert not two.swap(base_two, apply(base_two, CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", "b")))))
    assert set(two.load().schemas) == {SHOP, SchemaName("spark_catalog", "default")}


def test_a_loaded_state_does_not_change(reopen: Reopen) -> None:
    store = reopen()
    before = store.load()
    store.swap(before, apply(before, CreateSchema(SchemaEntry(name=SHOP))))
    assert before == INITIAL_STATE


def test_threads_that_change_at_once_lose_nothing(reopen: Reopen) -> None:
    """Each thread is a separate server; there are more changes than retained generations."""
    Catalog(reopen()).change(CreateSchema(SchemaEntry(name=SHOP)))
    threads, each = 4, GENERATIONS_RETAINED // 4 + 2
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            catalog = Catalog(reopen(), allowed_roots=["/data"])
            for number in range(first, first + each):
                catalog.change(CreateTable(table(number)))
        except BaseException as error:
            errors.append(error)
            raise

    workers = [threading.Thread(target=work, args=(which * each,)) for which in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    state = reopen().load()
    assert set(state.relations) == {table(number).name for number in range(threads * each)}
    assert state.generation == 1 + threads * each


def test_of_threads_that_create_one_table_one_succeeds(reopen: Reopen) -> None:
    Catalog(reopen()).change(CreateSchema(SchemaEntry(name=SHOP)))
    barrier, outcomes = threading.Barrier(4), list[str | None]()

    def work(number: int) -> None:
        catalog = Catalog(reopen(), allowed_roots=["/data"])
        barrier.wait()
        try:
            catalog.change(CreateTable(TableEntry(name=table(0).name, location=f"/data/{number}")))
        except TableAlreadyExists:
            outcomes.append(None)
        else:
            outcomes.append(f"/data/{number}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    winners = [outcome for outcome in outcomes if outcome]
    assert len(outcomes) == 4
    entry = reopen().load().relations[table(0).name]
    assert isinstance(entry, TableEntry)
    assert [entry.location] == winners


# ------------------------------------------------------------------------------------------- ids of statements


class Clock:
    """A settable time in ms."""

    ms = 1_000_000_000_000

    def __call__(self) -> int:
        return self.ms


class FormerStore(GenerationStore[CatalogState, Entry]):
    """The store of a release that does not write statements' ids."""

    def __init__(self, files: Files, now_ms: Clock) -> None:
        super().__init__(files, replace(_CATALOG, records_changes=False), now_ms)


def change(store: FileStore | FormerStore, name: str, transaction_id: str | None = None) -> None:
    base = store.load()
    new = apply(base, CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", name))))
    assert store.swap(base, new, transaction_id)


def test_statement_is_found_by_each_server_that_shares_the_store(reopen: Reopen) -> None:
    one, two = reopen(), reopen()
    assert two.find_change("a", 0) == ChangeSearch(is_found=False, is_complete=True)
    base = one.load()
    assert one.swap(base, apply(base, CreateSchema(SchemaEntry(name=SHOP))), "a")
    assert one.is_recorded("a") and not one.is_recorded("b")
    assert two.find_change("a", 0) == ChangeSearch(is_found=True, is_complete=True)
    assert two.is_recorded("a")
    assert two.find_change("b", 0) == ChangeSearch(is_found=False, is_complete=True)


def test_statements_are_retained_for_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    store = FileStore(open_files(str(tmp_path)), clock)
    begin = clock.ms
    for number in range(4):
        change(store, f"s{number}", f"id{number}")
        clock.ms += 250_000
    other = FileStore(open_files(str(tmp_path)), clock)
    # Written 750, 500, 250 and 0 s before the newest one.
    assert [other.find_change(f"id{number}", 0).is_found for number in range(4)] == [True] * 4
    change(other, "s4", "id4")
    assert [store.find_change(f"id{number}", 0).is_found for number in range(5)] == [False, True, True, True, True]
    assert not store.find_change("unknown", begin + 250_000).is_complete
    assert store.find_change("unknown", begin + 250_001).is_complete


def test_number_of_retained_statements_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.store.changes.CHANGES_MAX", 3)
    store = FileStore(open_files(str(tmp_path)), Clock())
    for number in range(5):
        change(store, f"s{number}", f"id{number}")
    assert [store.find_change(f"id{number}", 0).is_found for number in range(5)] == [False, False, True, True, True]
    assert not store.find_change("unknown", 0).is_complete


def test_releases_with_and_without_ids_of_statements_share_a_store(tmp_path: Path) -> None:
    clock = Clock()
    former = FormerStore(open_files(str(tmp_path)), clock)
    change(former, "s1")
    clock.ms += 10
    newer = FileStore(open_files(str(tmp_path)), clock)
    # The last change of the former release is unknown, but nothing was changed after it.
    assert newer.find_change("a", clock.ms - 9) == ChangeSearch(is_found=False, is_complete=True)
    assert newer.find_change("a", clock.ms - 10) == ChangeSearch(is_found=False, is_complete=False)
    change(newer, "s2", "a")
    assert newer.find_change("a", 0).is_found
    clock.ms += 10
    change(former, "s3")
    assert former.load().schemas.keys() == newer.load().schemas.keys()
    assert newer.find_change("a", 0) == ChangeSearch(is_found=False, is_complete=False)
    assert newer.find_change("b", clock.ms + 1) == ChangeSearch(is_found=False, is_complete=True)
    change(newer, "s4", "b")
    assert newer.find_change("b", 0) == ChangeSearch(is_found=True, is_complete=False)
    reopened = FileStore(open_files(str(tmp_path)), clock)
    assert reopened.find_change("b", 0).is_found and len(reopened.load().schemas) == 5


@pytest.mark.parametrize("changes", [None, {}, [[1]], [["1", 2, "a"]], [[9, 5, "a"]]])
def test_unreadable_ids_of_statements_are_unknown(tmp_path: Path, changes: object) -> None:
    store = FileStore(open_files(str(tmp_path)), Clock())
    for name in ("s1", "s2"):
        change(store, name, "a")
    newest = tmp_path / "generations" / f"{2:020}.json"
    newest.write_text(json.dumps(json.loads(newest.read_text()) | {"changes": changes}))
    reopened = FileStore(open_files(str(tmp_path)), Clock())
    assert reopened.find_change("a", 0) == ChangeSearch(is_found=False, is_complete=False)
    assert len(reopened.load().schemas) == 3
