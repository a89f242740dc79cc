"""The engine's catalog interface: names to entries, paths to entries, and changes, with a served folder."""

from __future__ import annotations

import os
from collections.abc import Callable
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
from catalog.conditions import CatalogBusy, LakeNotAvailable, LocationOverlap, PathNotAllowed, TableNotFound
from catalog.discovery.discovery import ServedFolder
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.grants.rights import NOBODY
from catalog.names import CatalogName, SchemaName, TableName, jdbc_matcher, like_matcher
from catalog.state import CatalogState
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles, LocalTree
from catalog.store.store import MemoryStore
from tests.catalog.lakes import make_tables

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
    make_tables(root, "events", "shop/orders", "shop/Customers", "crm/eu/people", "lab/t")
    return root


@pytest.fixture
def catalog(lake: Path) -> Catalog:
    """Returns the lake, with explicit objects in `own` and in the discovered schema `shop`, and a second catalog
    `two`.
    """
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
    ("requested", "found"),
    [
        ("events", "events"),
        ("default.EVENTS", "events"),
        ("Shop.ORDERS", "shop/orders"),
        ("hive_metastore.shop.customers", "shop/Customers"),
        ("own.T", "../more/t"),
    ],
)
def test_names_resolve_to_locations(catalog: Catalog, lake: Path, requested: str, found: str) -> None:
    entry = catalog.view().resolve(name(requested))
    assert isinstance(entry, TableEntry)
    assert entry.location == str((lake / found).resolve())


def test_an_explicit_entry_counts_before_a_folder(lake: Path) -> None:
    catalog = Catalog(MemoryStore(), ServedFolder(LocalTree(str(lake))))
    entry = TableEntry(name=name("Shop.Orders"), location=f"{lake}/shop/orders", comment="explicit", owner="ada")
    view = catalog.change(CreateTable(entry))
    assert view.resolve(name("shop.orders")) == entry
    assert [each.name.table for each in view.relations(schema("shop"))] == ["Customers", "Orders"]


@pytest.mark.parametrize(
    ("requested", "condition", "hint"),
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
        ("shop.xyzzy", "TABLE_OR_VIEW_NOT_FOUND", "Check the spelling"),
        ("crm.eu.people", "CATALOG_NOT_FOUND", "Did you mean `spark_catalog`.`crm.eu`.`people`?"),
        ("spark_katalog.shop.orders", "CATALOG_NOT_FOUND", "Did you mean `spark_catalog`?"),
        ("sytem.gateway.queries", "CATALOG_NOT_FOUND", "Did you mean `system`?"),
        ("system.gatewy.queries", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `system`.`gateway`.`queries`?"),
        ("SYSTEM.gateway.querys", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `system`.`gateway`.`queries`?"),
        ("system.sesions", "TABLE_OR_VIEW_NOT_FOUND", "Did you mean `system`.`gateway`.`sessions`?"),
        ("system.x.xyzzy", "TABLE_OR_VIEW_NOT_FOUND", "SHOW SCHEMAS IN system lists its schemas."),
        ("system.xyzzy", "TABLE_OR_VIEW_NOT_FOUND", "There is no schema `spark_catalog`.`system`. Check"),
        ("two.s.orders", "TABLE_OR_VIEW_NOT_FOUND", "Check the spelling"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_it_may_mean(
    catalog: Catalog, requested: str, condition: str, hint: str
) -> None:
    with pytest.raises(SqlError) as caught:
        catalog.view().resolve(name(requested))
    assert caught.value.condition == condition
    assert hint in caught.value.hint


def test_a_hint_does_not_stumble_over_an_ambiguous_name(catalog: Catalog, lake: Path) -> None:
    make_tables(lake, "aaa/Xyzzy", "aaa/xYzzy", "bbb/xyzzy")
    with pytest.raises(SqlError, match="Did you mean `spark_catalog`.`bbb`.`xyzzy`"):
        catalog.view().resolve(name("XYZZY"))


def test_the_schemas_of_system(catalog: Catalog) -> None:
    view, user = catalog.view(), catalog.view().visible_to(NOBODY)
    names = [entry.name.schema for entry in view.schemas(CatalogName("SYSTEM"))]
    assert names == ["access", "gateway", "information_schema"]
    assert [entry.name.schema for entry in user.find_schemas("system", lambda name: name != "gateway")] == [
        "access",
        "information_schema",
    ]
    assert "system" not in [entry.name.catalog for entry in view.catalogs()]
    with pytest.raises(SqlError, match="Did you mean `system`.`gateway`"):
        view.schema(SchemaName("system", "gatewy"))
    with pytest.raises(SqlError, match="Did you mean `system`.`gateway`.`metrics`"):
        user.resolve(TableName("system", "gateway", "metric"))
    with pytest.raises(SqlError) as refused:
        user.resolve(TableName("system", "access", "audi"))
    assert "audit" not in str(refused.value)


def test_schemas_and_catalogs_that_are_not_there(catalog: Catalog) -> None:
    view = catalog.view()
    assert view.has_catalog(CatalogName("HIVE_metastore"))
    assert not view.has_catalog(CatalogName("three"))
    assert view.schema(schema("OWN")).comment == "ours"
    assert view.schema(schema("Shop")).name.schema == "shop"
    for attempt, condition, hint in (
        (lambda: view.schema(schema("shops")), "SCHEMA_NOT_FOUND", "Did you mean `spark_catalog`.`shop`?"),
        (lambda: view.schema(SchemaName("tow", "s")), "CATALOG_NOT_FOUND", "Did you mean `Two`?"),
        (lambda: view.catalog(CatalogName("xyz")), "CATALOG_NOT_FOUND", "SHOW CATALOGS"),
        (lambda: view.schemas(CatalogName("xyz")), "CATALOG_NOT_FOUND", ""),
        (lambda: view.relations(schema("xyz")), "SCHEMA_NOT_FOUND", ""),
        (lambda: view.relations(SchemaName("two", "shop")), "SCHEMA_NOT_FOUND", ""),
    ):
        with pytest.raises(SqlError) as caught:
            attempt()
        assert caught.value.condition == condition
        assert hint in caught.value.hint


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
    with pytest.raises(TableNotFound):
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
        (CreateCatalog(CatalogEntry(name=CatalogName("%2e%2e"))), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (CreateSchema(SchemaEntry(name=schema("_delta_log"))), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (CreateView(view_entry("shop.a\0b")), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (RenameTable(name("own.t"), name("own.a/b")), "INVALID_SCHEMA_OR_RELATION_NAME"),
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


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("{lake}", "it is the served folder itself"),
        ("{lake}/shop/orders/inner", "it lies inside the table at {lake}/shop/orders"),
        ("{lake}/shop/orders/a/b/c", "it lies inside the table at {lake}/shop/orders"),
        ("{lake}/shop", "the table at {lake}/shop/"),
        ("{lake}/crm", "the table at {lake}/crm/eu/people lies inside"),
        ("{lake}/../lake/shop/./orders/inner", "it lies inside the table at {lake}/shop/orders"),
        ("{lake}/link/inner", "it lies inside the table at {lake}/shop/orders"),
        ("{lake}/free/_delta_log/t", "it lies inside a log"),
        ("{lake}/.catalog", "the catalog keeps its files there"),
        ("{lake}/.catalog/objects/t", "the catalog keeps its files there"),
        ("{more}", "the table at {more}/t lies inside"),
        ("{more}/t/inner", "it lies inside the table at {more}/t"),
        ("{lake}/hidden", "the table at {lake}/hidden/_x/day=1/t lies inside"),
    ],
)
def test_no_table_is_made_in_another_or_above_one(lake: Path, location: str, reason: str) -> None:
    """`own.t` is only recorded, the others exist there."""
    more = str(lake.parent / "more")
    places = {"lake": str(lake), "more": more}
    catalog = Catalog(MemoryStore(), ServedFolder(LocalTree(str(lake))), [more], str(lake / ".catalog"))
    catalog.change(CreateSchema(SchemaEntry(name=schema("own"))))
    catalog.change(CreateTable(TableEntry(name=name("own.t"), location=f"{more}/t")))
    os.symlink("shop/orders", lake / "link")
    make_tables(lake, "hidden/_x/day=1/t")
    view = catalog.view()
    with pytest.raises(LocationOverlap) as caught:
        view.ensure_free_location(view.ensure_location(location.format(**places)))
    assert reason.format(**places) in caught.value.message


@pytest.mark.parametrize(
    "location", ["{lake}/free", "{lake}/shop/orders2", "{lake}/shop/o", "{lake}/crm/eu2/t", "{more}/t2"]
)
def test_free_places(catalog: Catalog, lake: Path, location: str) -> None:
    view = catalog.view()
    view.ensure_free_location(view.ensure_location(location.format(lake=lake, more=lake.parent / "more")))


def test_location_below_a_lake_that_is_a_table_is_rejected(catalog: Catalog, lake: Path) -> None:
    make_tables(lake, ".")
    with pytest.raises(LocationOverlap, match=f"it lies inside the table at {lake}"):
        catalog.view().ensure_free_location(f"{lake}/default/new")


def test_links_lead_no_new_table_out(catalog: Catalog, lake: Path) -> None:
    (lake.parent / "outside").mkdir()
    catalog.change(CreateSchema(SchemaEntry(name=schema("linked"))))
    os.symlink("../outside", lake / "linked")
    os.mkdir(lake / "default")
    os.symlink("../../outside/not there yet", lake / "default/t")
    view = catalog.view()
    for dotted in ("linked.t", "default.t"):
        with pytest.raises(PathNotAllowed):
            view.managed_location(name(dotted))


@pytest.mark.parametrize(
    ("location", "condition"),
    [
        ("/etc", "PATH_NOT_ALLOWED"),
        ("{lake}/../other", "PATH_NOT_ALLOWED"),
        ("s3://bucket/folder", "PATH_NOT_ALLOWED"),
        ("relative", "PATH_NOT_ALLOWED"),
        ("{lake}/out", "PATH_NOT_ALLOWED"),
        ("{lake}/shop/orders", "LOCATION_OVERLAP"),
        ("{lake}/shop/orders/inner", "LOCATION_OVERLAP"),
    ],
)
def test_a_schema_is_made_where_tables_can_be(catalog: Catalog, lake: Path, location: str, condition: str) -> None:
    os.symlink("/", lake / "out")
    before = catalog.view().generation
    entry = SchemaEntry(name=schema("s"), location=location.format(lake=lake))
    with pytest.raises(SqlError) as caught:
        catalog.change(CreateSchema(entry))
    assert caught.value.condition == condition
    assert catalog.view().generation == before


def test_the_location_of_a_schema_is_recorded_as_it_really_is(catalog: Catalog, lake: Path) -> None:
    os.symlink("shop", lake / "alias")
    entry = SchemaEntry(name=schema("s"), location=f"file:{lake}/alias/../alias/new/")
    catalog.change(CreateSchema(entry))
    assert catalog.view().schema(schema("s")).location == f"{lake}/shop/new"


def test_missing_lake_folder_is_an_error_and_is_not_created(lake: Path) -> None:
    own, elsewhere = lake / ".catalog", str(lake.parent / "more")
    make_tables(lake.parent / "more", "t")
    store = FileStore(LocalFiles(str(own)))
    catalog = Catalog(store, ServedFolder(LocalTree(str(lake))), [elsewhere], str(own))
    catalog.change(CreateSchema(SchemaEntry(name=schema("own"))))
    catalog.change(CreateTable(TableEntry(name=name("own.there"), location=f"{elsewhere}/t")))
    catalog.change(CreateTable(TableEntry(name=name("own.here"), location=f"{lake}/shop/orders")))
    os.rename(lake, f"{lake}.away")
    view = catalog.view()
    attempts: list[Callable[[], object]] = [
        lambda: view.resolve(name("own.here")),
        lambda: view.resolve(name("shop.orders")),
        lambda: view.resolve_path(f"{lake}/shop/orders"),
        lambda: view.relations(schema("shop")),
        lambda: view.schemas(SPARK),
        lambda: view.managed_location(name("own.new")),
        lambda: view.ensure_location(f"{lake}/new"),
        lambda: catalog.change(CreateSchema(SchemaEntry(name=schema("more")))),
        lambda: catalog.change(DropTable(name("own.there"))),
    ]
    for attempt in attempts:
        with pytest.raises(LakeNotAvailable):
            attempt()
        assert not lake.exists()
    assert view.resolve(name("own.there"))
    os.rename(f"{lake}.away", lake)
    assert catalog.view().generation == view.generation == 3
    assert catalog.view().resolve(name("own.here"))
    os.rename(elsewhere, f"{elsewhere}.away")
    with pytest.raises(LakeNotAvailable, match="more"):
        catalog.view().resolve(name("own.there"))
    assert catalog.view().resolve(name("own.here"))


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
    make_tables(location, ".")
    catalog.change(CreateTable(TableEntry(name=name("shop.managed"), location=str(location), managed=True)))
    view = catalog.change(RenameTable(name("shop.managed"), name("shop.renamed")))
    assert [entry.name.table for entry in view.relations(schema("shop"))] == [
        "Customers",
        "orders",
        "Recent",
        "renamed",
    ]
    with pytest.raises(TableNotFound):
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

    def swap(self, base: CatalogState, new: CatalogState, transaction_id: str | None = None) -> bool:
        self.attempts += 1
        return False


def test_a_change_that_never_wins_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.catalog.CHANGE_ATTEMPTS_MAX", 3)
    store = _LosingStore()
    with pytest.raises(CatalogBusy, match="3 attempts"):
        Catalog(store).change(CreateSchema(SchemaEntry(name=schema("s"))))
    assert store.attempts == 3
