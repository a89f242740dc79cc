"""The catalog as the engine uses it: names to entries, paths to entries, changes beside a served folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.catalog import Catalog, CatalogView
from catalog.changes import (
    Change,
    CreateCatalog,
    CreateSchema,
    CreateTable,
    CreateView,
    DropCatalog,
    DropSchema,
    DropTable,
    DropView,
    RenameTable,
)
from catalog.discovery import ServedFolder
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry
from catalog.errors import CatalogBusy, PathNotAllowed, SqlError
from catalog.files import LocalTree
from catalog.memory_store import MemoryStore
from catalog.names import CatalogName, SchemaName, TableName, jdbc_matcher, like_matcher
from catalog.state import CatalogState

SPARK = CatalogName("spark_catalog")


def name(dotted: str) -> TableName:
    parts = dotted.split(".")
    return TableName.from_parts(tuple(parts), SchemaName("spark_catalog", "default"))


def schema(dotted: str) -> SchemaName:
    return SchemaName.from_parts(tuple(dotted.split(".")), "spark_catalog")


def view_entry(dotted: str) -> ViewEntry:
    return ViewEntry(name=name(dotted), text="SELECT 1", current=schema("shop"))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "lake"
    for path in ("events", "shop/orders", "shop/Customers", "crm/eu/people", "lab/t"):
        (root / path / "_delta_log").mkdir(parents=True)
    return root


@pytest.fixture
def catalog(lake: Path) -> Catalog:
    """The lake, with explicit objects in `own` and in the discovered schema `shop`, and a second catalog `two`."""
    catalog = Catalog(MemoryStore(), ServedFolder(LocalTree(str(lake))), [str(lake.parent / "more")])
    for change in (
        CreateCatalog(CatalogEntry(name=CatalogName("Two"))),
        CreateSchema(SchemaEntry(name=SchemaName("two", "s"))),
        CreateSchema(SchemaEntry(name=schema("own"), comment="ours")),
        CreateTable(TableEntry(name=name("own.t"), location=str(lake.parent / "more/t"), owner="ada")),
        CreateView(view_entry("shop.Recent")),
    ):
        catalog.change(change)
    return catalog


def test_catalogs_and_schemas_are_listed(catalog: Catalog) -> None:
    view = catalog.view()
    assert [entry.name.catalog for entry in view.catalogs()] == ["spark_catalog", "Two"]
    assert [entry.name.schema for entry in view.schemas(SPARK)] == ["crm.eu", "default", "lab", "own", "shop"]
    assert [entry.name.schema for entry in view.schemas(CatalogName("two"))] == ["s"]
    assert [entry.name.schema for entry in view.schemas(SPARK, like_matcher("S*|own"))] == ["own", "shop"]


def test_relations_of_both_sources_are_listed_together(catalog: Catalog) -> None:
    view = catalog.view()
    listed = view.relations(schema("SHOP"))
    assert [entry.name.table for entry in listed] == ["Customers", "orders", "Recent"]
    assert [type(entry) for entry in listed] == [TableEntry, TableEntry, ViewEntry]
    assert [entry.name.table for entry in view.relations(schema("shop"), jdbc_matcher("_r%"))] == ["orders"]
    assert view.relations(SchemaName("two", "s")) == []
    assert [entry.name.table for entry in view.relations(schema("default"))] == ["events"]


def test_metadata_calls_look_through_all_catalogs(catalog: Catalog) -> None:
    view = catalog.view()
    found = [entry.name.schema for entry in view.find_schemas(None, jdbc_matcher("s%"))]
    assert found == ["shop", "s"]
    assert list(view.find_schemas("nowhere")) == []
    relations = view.find_relations("hive_metastore", jdbc_matcher("%"), jdbc_matcher("%s"))
    assert [entry.name.parts[1:] for entry in relations] == [
        ("default", "events"),
        ("shop", "Customers"),
        ("shop", "orders"),
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("events", "events"),
        ("default.EVENTS", "events"),
        ("Shop.ORDERS", "shop/orders"),
        ("hive_metastore.shop.customers", "shop/Customers"),
        ("own.T", "../more/t"),
    ],
)
def test_names_resolve_to_locations(catalog: Catalog, lake: Path, asked: str, found: str) -> None:
    entry = catalog.view().resolve(name(asked))
    assert isinstance(entry, TableEntry)
    assert entry.location == str((lake / found).resolve())


def test_an_explicit_entry_counts_before_a_folder(lake: Path) -> None:
    catalog = Catalog(MemoryStore(), ServedFolder(LocalTree(str(lake))))
    entry = TableEntry(name=name("Shop.Orders"), location=f"{lake}/shop/orders", comment="explicit", owner="ada")
    view = catalog.change(CreateTable(entry))
    assert view.resolve(name("shop.orders")) == entry
    assert [each.name.table for each in view.relations(schema("shop"))] == ["Customers", "Orders"]


@pytest.mark.parametrize(
    ("asked", "condition", "hint"),
    [
        ("shop.order", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `spark_catalog`.`shop`.`orders`?"),
        ("shop.rcent", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `spark_catalog`.`shop`.`Recent`?"),
        ("Customers", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `spark_catalog`.`shop`.`Customers`?"),
        ("recent", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `spark_catalog`.`shop`.`Recent`?"),
        (
            "shp.orders",
            "TABLE_OR_VIEW_NOT_FOUND",
            "There is no schema `spark_catalog`.`shp`. Did you mean `spark_catalog`.`shop`?",
        ),
        ("xyzzy.quux", "TABLE_OR_VIEW_NOT_FOUND", "There is no schema `spark_catalog`.`xyzzy`. Check"),
        ("shop.xyzzy", "TABLE_OR_VIEW_NOT_FOUND", "cannot be found. Check"),
        ("crm.eu.people", "CATALOG_NOT_FOUND", "Did you mean `spark_catalog`.`crm.eu`.`people`?"),
        ("spark_katalog.shop.orders", "CATALOG_NOT_FOUND", "Did you mean `spark_catalog`?"),
        ("two.s.orders", "TABLE_OR_VIEW_NOT_FOUND", "cannot be found. Check"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_it_may_mean(
    catalog: Catalog, asked: str, condition: str, hint: str
) -> None:
    with pytest.raises(SqlError) as caught:
        catalog.view().resolve(name(asked))
    assert caught.value.condition == condition
    assert hint in caught.value.message


def test_a_hint_does_not_stumble_over_an_ambiguous_name(catalog: Catalog, lake: Path) -> None:
    for path in ("aaa/Xyzzy", "aaa/xYzzy", "bbb/xyzzy"):
        (lake / path / "_delta_log").mkdir(parents=True)
    with pytest.raises(SqlError, match="Did you mean `spark_catalog`.`bbb`.`xyzzy`"):
        catalog.view().resolve(name("XYZZY"))


def test_schemas_and_catalogs_that_are_not_there(catalog: Catalog) -> None:
    view = catalog.view()
    assert view.has_catalog(CatalogName("HIVE_metastore"))
    assert not view.has_catalog(CatalogName("three"))
    assert view.schema(schema("OWN")).comment == "ours"
    assert view.schema(schema("Shop")).name.schema == "shop"
    for attempt, condition, hint in (
        (lambda: view.schema(schema("shops")), "SCHEMA_NOT_FOUND", "Did you mean `spark_catalog`.`shop`?"),
        (lambda: view.schema(SchemaName("tow", "s")), "CATALOG_NOT_FOUND", "Did you mean `Two`?"),
        (lambda: view.catalog(CatalogName("xyz")), "CATALOG_NOT_FOUND", "cannot be found. SHOW"),
        (lambda: view.schemas(CatalogName("xyz")), "CATALOG_NOT_FOUND", ""),
        (lambda: view.relations(schema("xyz")), "SCHEMA_NOT_FOUND", ""),
        (lambda: view.relations(SchemaName("two", "shop")), "SCHEMA_NOT_FOUND", ""),
    ):
        with pytest.raises(SqlError) as caught:
            attempt()
        assert caught.value.condition == condition
        assert hint in caught.value.message


def test_paths_resolve_below_allowed_roots_only(catalog: Catalog, lake: Path) -> None:
    view = catalog.view()
    entry = view.resolve_path(f"{lake}/shop/../shop/orders")
    assert entry.location == f"{lake}/shop/orders"
    assert str(entry.name) == f"`spark_catalog`.`delta`.`{lake}/shop/orders`"
    assert view.resolve_path(f"file:{lake.parent}/more/t").location == f"{lake.parent}/more/t"
    with pytest.raises(PathNotAllowed):
        view.resolve_path(str(lake.parent))


def test_a_view_stays_at_its_generation(catalog: Catalog) -> None:
    before = catalog.view()
    after = catalog.change(DropTable(name("own.t")))
    assert after.generation == before.generation + 1 == catalog.view().generation
    assert before.resolve(name("own.t"))
    with pytest.raises(SqlError):
        after.resolve(name("own.t"))


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        (CreateSchema(SchemaEntry(name=schema("LAB"))), "SCHEMA_ALREADY_EXISTS"),
        (CreateSchema(SchemaEntry(name=schema("shop"))), "SCHEMA_ALREADY_EXISTS"),
        (CreateSchema(SchemaEntry(name=SchemaName("nowhere", "s"))), "CATALOG_NOT_FOUND"),
        (DropSchema(schema("lab")), "SCHEMA_NOT_EMPTY"),
        (DropSchema(schema("lab"), cascade=True), "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
        (DropSchema(schema("shop"), cascade=True), "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
        (DropSchema(schema("nowhere")), "SCHEMA_NOT_FOUND"),
        (
            CreateTable(TableEntry(name=name("shop.ORDERS"), location="{lake}/elsewhere")),
            "TABLE_OR_VIEW_ALREADY_EXISTS",
        ),
        (CreateTable(TableEntry(name=name("own.t2"), location="/etc")), "PATH_NOT_ALLOWED"),
        (CreateTable(TableEntry(name=name("own.t2"), location="{lake}/../other")), "PATH_NOT_ALLOWED"),
        (CreateTable(TableEntry(name=name("nowhere.t2"), location="{lake}/t2")), "SCHEMA_NOT_FOUND"),
        (CreateView(view_entry("shop.orders"), replace=True), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (DropTable(name("shop.orders")), "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
        (DropView(name("shop.orders")), "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
        (DropTable(name("shop.nothing")), "TABLE_OR_VIEW_NOT_FOUND"),
        (RenameTable(name("shop.orders"), name("shop.o2")), "DISCOVERED_OBJECT_NOT_CHANGEABLE"),
        (RenameTable(name("own.t"), name("shop.orders")), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (DropCatalog(CatalogName("two")), "CATALOG_NOT_EMPTY"),
    ],
    ids=repr,
)
def test_changes_that_cannot_be(catalog: Catalog, lake: Path, change: Change, condition: str) -> None:
    if isinstance(change, CreateTable):
        location = change.entry.location.replace("{lake}", str(lake))
        change = CreateTable(TableEntry(name=change.entry.name, location=location), change.replace)
    before = catalog.view()
    with pytest.raises(SqlError) as caught:
        catalog.change(change)
    assert caught.value.condition == condition
    assert catalog.view().generation == before.generation


def test_creating_in_a_schema_that_is_only_a_folder_records_the_schema(catalog: Catalog, lake: Path) -> None:
    view = catalog.change(CreateTable(TableEntry(name=name("LAB.mine"), location=f"{lake}/lab/mine")))
    assert [entry.name.schema for entry in view.state.schemas.values()][-1] == "lab"
    assert [entry.name.table for entry in view.relations(schema("lab"))] == ["mine", "t"]


def test_a_location_is_recorded_in_its_canonical_form(catalog: Catalog, lake: Path) -> None:
    view = catalog.change(CreateTable(TableEntry(name=name("own.again"), location=f"file:{lake}//shop/./orders/")))
    entry = view.resolve(name("own.again"))
    assert isinstance(entry, TableEntry)
    assert entry.location == f"{lake}/shop/orders"
    assert view.resolve(name("shop.orders"))  # registered elsewhere too, but not owned


def test_a_managed_table_in_the_served_folder_has_one_name_also_when_renamed(catalog: Catalog, lake: Path) -> None:
    location = lake / "shop/managed"
    (location / "_delta_log").mkdir(parents=True)
    catalog.change(CreateTable(TableEntry(name=name("shop.managed"), location=str(location), managed=True)))
    view = catalog.change(RenameTable(name("shop.managed"), name("shop.renamed")))
    assert [entry.name.table for entry in view.relations(schema("shop"))] == [
        "Customers",
        "orders",
        "Recent",
        "renamed",
    ]
    with pytest.raises(SqlError):
        view.resolve(name("shop.managed"))
    assert catalog.change(DropTable(name("shop.renamed"))).resolve(name("shop.managed"))  # until its files are gone


def test_without_a_served_folder_only_explicit_entries_are_there(tmp_path: Path) -> None:
    view: CatalogView = Catalog(MemoryStore()).view()
    assert [entry.name.schema for entry in view.schemas(SPARK)] == ["default"]
    assert view.relations(schema("default")) == []
    with pytest.raises(PathNotAllowed):
        view.resolve_path(str(tmp_path))


class _LosingStore(MemoryStore):
    """Somebody else is always faster."""

    attempts = 0

    def swap(self, base: CatalogState, new: CatalogState) -> bool:
        self.attempts += 1
        return False


def test_a_change_that_never_wins_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.catalog.CHANGE_ATTEMPTS_MAX", 3)
    store = _LosingStore()
    with pytest.raises(CatalogBusy, match="3 times"):
        Catalog(store).change(CreateSchema(SchemaEntry(name=schema("s"))))
    assert store.attempts == 3
