"""Folding of changes: each one's effect on a state, and rejected ones."""

from __future__ import annotations

import pytest

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
    SetViewProperties,
    apply,
)
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry, VolumeEntry
from catalog.errors import SqlError
from catalog.names import CatalogName, SchemaName, TableName
from catalog.state import INITIAL_STATE, CatalogState
from catalog.volumes.changes import CreateVolume, DropVolume


def schema(name: str, catalog: str = "spark_catalog") -> SchemaName:
    return SchemaName(catalog, name)


def table(name: str, location: str = "/t") -> TableEntry:
    return TableEntry(name=_name(name), location=location)


def view(name: str, text: str = "SELECT 1") -> ViewEntry:
    return ViewEntry(name=_name(name), text=text, current=schema("shop"))


def _name(dotted: str) -> TableName:
    return TableName("spark_catalog", *dotted.split("."))


SHOP = apply(
    INITIAL_STATE,
    CreateCatalog(CatalogEntry(name=CatalogName("lab"))),
    CreateSchema(SchemaEntry(name=schema("shop"))),
    CreateSchema(SchemaEntry(name=schema("empty"))),
    CreateTable(table("shop.orders")),
    CreateView(view("shop.recent")),
)


def names(state: CatalogState) -> set[str]:
    return {
        *(name.catalog for name in state.catalogs),
        *(name.schema for name in state.schemas),
        *(f"{name.schema}.{name.table}" for name in state.relations),
    }


ALL = names(SHOP)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (CreateCatalog(CatalogEntry(name=CatalogName("Two"))), ALL | {"Two"}),
        (DropCatalog(CatalogName("LAB")), ALL - {"lab"}),
        (CreateSchema(SchemaEntry(name=schema("other", "lab"))), ALL | {"other"}),
        (DropSchema(schema("EMPTY")), ALL - {"empty"}),
        (DropSchema(schema("shop"), cascade=True), ALL - {"shop", "shop.orders", "shop.recent"}),
        (CreateTable(table("shop.New")), ALL | {"shop.New"}),
        (CreateTable(table("shop.ORDERS"), replace=True), ALL - {"shop.orders"} | {"shop.ORDERS"}),
        (DropTable(_name("Shop.Orders")), ALL - {"shop.orders"}),
        (CreateView(view("empty.v")), ALL | {"empty.v"}),
        (CreateView(view("shop.recent", "SELECT 2"), replace=True), ALL),
        (CreateView(view("shop.recent", "SELECT 2"), replace=True, alters=True), ALL),
        (SetViewProperties(_name("shop.recent"), (("a", "b"),)), ALL),
        (DropView(_name("shop.recent")), ALL - {"shop.recent"}),
        (RenameTable(_name("shop.orders"), _name("empty.o2")), ALL - {"shop.orders"} | {"empty.o2"}),
        (RenameTable(_name("shop.orders"), _name("shop.Orders")), ALL - {"shop.orders"} | {"shop.Orders"}),
        (RenameTable(_name("shop.recent"), _name("shop.r2")), ALL - {"shop.recent"} | {"shop.r2"}),
    ],
    ids=lambda value: repr(sorted(value) if isinstance(value, set) else value),
)
def test_a_change_makes_the_next_generation(change: Change, expected: set[str]) -> None:
    after = apply(SHOP, change)
    assert names(after) == expected
    assert after.generation == SHOP.generation + 1
    assert names(SHOP) == ALL  # the former state is as it was


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        (CreateCatalog(CatalogEntry(name=CatalogName("LAB"))), "CATALOG_ALREADY_EXISTS"),
        (CreateCatalog(CatalogEntry(name=CatalogName("hive_metastore"))), "CATALOG_ALREADY_EXISTS"),
        (CreateCatalog(CatalogEntry(name=CatalogName("a/b"))), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (DropCatalog(CatalogName("nowhere")), "CATALOG_NOT_FOUND"),
        (DropCatalog(CatalogName("spark_catalog")), "UNSUPPORTED_FEATURE.DROP_DATABASE"),
        (CreateSchema(SchemaEntry(name=schema("SHOP"))), "SCHEMA_ALREADY_EXISTS"),
        (CreateSchema(SchemaEntry(name=schema("s", "nowhere"))), "CATALOG_NOT_FOUND"),
        (CreateSchema(SchemaEntry(name=schema(".."))), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (DropSchema(schema("nowhere")), "SCHEMA_NOT_FOUND"),
        (DropSchema(schema("shop")), "SCHEMA_NOT_EMPTY"),
        (DropSchema(schema("Default"), cascade=True), "UNSUPPORTED_FEATURE.DROP_DATABASE"),
        (CreateTable(table("nowhere.t")), "SCHEMA_NOT_FOUND"),
        (CreateTable(table("shop.Orders")), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (CreateTable(table("shop.recent"), replace=True), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (CreateTable(table("shop.a/b")), "INVALID_SCHEMA_OR_RELATION_NAME"),
        (CreateView(view("shop.orders"), replace=True), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (CreateView(view("shop.recent")), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (DropTable(_name("shop.nothing")), "TABLE_OR_VIEW_NOT_FOUND"),
        (DropTable(_name("shop.recent")), "EXPECT_TABLE_NOT_VIEW"),
        (CreateView(view("shop.orders"), replace=True, alters=True), "EXPECT_VIEW_NOT_TABLE"),
        (CreateView(view("shop.nothing"), replace=True, alters=True), "TABLE_OR_VIEW_NOT_FOUND"),
        (SetViewProperties(_name("shop.orders"), ()), "EXPECT_VIEW_NOT_TABLE"),
        (SetViewProperties(_name("shop.nothing"), ()), "TABLE_OR_VIEW_NOT_FOUND"),
        (DropView(_name("shop.orders")), "EXPECT_VIEW_NOT_TABLE"),
        (RenameTable(_name("shop.nothing"), _name("shop.x")), "TABLE_OR_VIEW_NOT_FOUND"),
        (RenameTable(_name("shop.orders"), _name("shop.recent")), "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (RenameTable(_name("shop.orders"), _name("nowhere.x")), "SCHEMA_NOT_FOUND"),
    ],
    ids=repr,
)
def test_a_change_that_cannot_be_says_why(change: Change, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        apply(SHOP, change)
    assert caught.value.condition == condition


def test_a_catalog_with_schemas_stays() -> None:
    state = apply(SHOP, CreateSchema(SchemaEntry(name=schema("s", "lab"))))
    with pytest.raises(SqlError) as caught:
        apply(state, DropCatalog(CatalogName("lab")))
    assert caught.value.condition == "CATALOG_NOT_EMPTY"


def test_replacing_puts_the_new_entry() -> None:
    state = apply(SHOP, CreateTable(table("shop.orders", "/elsewhere"), replace=True))
    entry = state.relations[_name("shop.orders")]
    assert isinstance(entry, TableEntry)
    assert entry.location == "/elsewhere"


def _volume(name: str, location: str, *, managed: bool = False) -> CreateVolume:
    return CreateVolume(
        VolumeEntry(name=TableName("spark_catalog", "default", name), location=location, managed=managed)
    )


@pytest.mark.parametrize(
    ("second", "condition"),
    [
        (_volume("w", "/data/raw"), "LOCATION_OVERLAP"),
        (_volume("w", "/data/raw/in"), "LOCATION_OVERLAP"),
        (_volume("w", "/data"), "LOCATION_OVERLAP"),
        (_volume("V", "/data/other"), "VOLUME_ALREADY_EXISTS"),
        (_volume("w", "/data/raw2"), None),
        (DropVolume(TableName("spark_catalog", "default", "w")), "UC_VOLUME_NOT_FOUND"),
    ],
)
def test_of_two_volumes_that_are_created_at_once_one_is_refused(second: Change, condition: str | None) -> None:
    state = apply(INITIAL_STATE, _volume("v", "/data/raw"))
    if condition is None:
        assert len(apply(state, second).volumes) == 2
        return
    with pytest.raises(SqlError) as refused:
        apply(state, second)
    assert refused.value.condition == condition
