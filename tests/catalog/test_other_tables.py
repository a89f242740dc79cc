"""Other tables' folders for path comparisons, as the catalog changes."""

from __future__ import annotations

import pytest

from catalog.catalog import Catalog
from catalog.changes import CreateSchema, CreateTable, DropTable, ForgetClone, RecordClone
from catalog.discovery import other_tables
from catalog.discovery.other_tables import OtherTables, OtherTablesFinder
from catalog.entries import CloneEntry, SchemaEntry, TableEntry
from catalog.names import SchemaName, TableName
from catalog.store.store import MemoryStore


def _name(table: str) -> TableName:
    return TableName("spark_catalog", "s", table)


def _catalog(store: MemoryStore, **tables: str) -> Catalog:
    catalog = Catalog(store, allowed_roots=("/", "s3a://b", "s3://b"))
    catalog.change(CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", "s"))))
    for name, location in tables.items():
        catalog.change(CreateTable(TableEntry(name=_name(name), location=location, managed=False)))
    return catalog


def test_folders_below_a_table_and_below_its_sources() -> None:
    store = MemoryStore()
    places = {"a": "/x/a", "b": "/x/a/inner", "c": "/x/ab", "d": "/src", "e": "/src/e", "f": "s3a://b/x/f"}
    catalog = _catalog(store, **places)
    catalog.change(RecordClone(CloneEntry(location="/x/a", sources=("/src",))))
    finder = OtherTablesFinder(store.newest, ("/trusted",), None)
    assert finder.find("/x/a") == OtherTables(("/src", "/trusted"), ("/x/a/inner", "/src/e"))
    assert finder.find("/x/ab") == OtherTables(("/trusted",))
    assert finder.find("/x").excluded == ("/x/a", "/x/a/inner", "/x/ab")
    assert finder.find("s3://b/x").excluded == ("s3a://b/x/f",)  # one store by two names
    assert finder.find("/trusted/t").accepts_hard_links and not finder.find("/x/a").accepts_hard_links


def test_answer_is_the_same_object_until_it_changes() -> None:
    store = MemoryStore()
    catalog = _catalog(store, a="/x/a")
    finder = OtherTablesFinder(store.newest, (), None)
    before = finder.find("/x/a")
    catalog.change(CreateTable(TableEntry(name=_name("b"), location="/y", managed=False)))
    catalog.change(DropTable(_name("b")))
    assert finder.find("/x/a") is before
    catalog.change(RecordClone(CloneEntry(location="/x/a", sources=("/src",))))
    assert finder.find("/x/a").sources == ("/src",)
    catalog.change(ForgetClone("/x/a"))
    assert finder.find("/x/a").sources == ()


def test_answers_of_dropped_tables_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_tables, "_FOUND_MAX", 10)
    store = MemoryStore()
    catalog = _catalog(store)
    finder = OtherTablesFinder(store.newest, (), None)
    for number in range(50):
        catalog.change(CreateTable(TableEntry(name=_name("t"), location=f"/t/{number}", managed=False)))
        finder.find(f"/t/{number}")
        catalog.change(DropTable(_name("t")))
    assert len(finder._index.before) + len(finder._index.found) <= 11
