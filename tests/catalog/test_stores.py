"""One behaviour for every store."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
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
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry
from catalog.names import CatalogName, SchemaName, TableName
from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.entry_json import to_json
from catalog.store.file_store import GENERATIONS_RETAINED, FileStore
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
