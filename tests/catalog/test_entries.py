"""Entries round-trip through JSON, including fields unknown to this release."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.entries import (
    CatalogEntry,
    Entry,
    FunctionEntry,
    FunctionParameter,
    GroupEntry,
    LocationEntry,
    SchemaEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.grants.privileges import Grant, PrincipalKind, Privilege, group, user
from catalog.names import CatalogName, SchemaName, TableName
from catalog.store.entry_json import MalformedEntry, from_json, to_json

ORDERS = TableName("spark_catalog", "Shop", "Orders")
GRANTS = (Grant(user("ann"), Privilege.SELECT, "ada"), Grant(group("Staff"), Privilege.ALL))
NamedEntry = CatalogEntry | SchemaEntry | TableEntry | ViewEntry | FunctionEntry
ENTRIES: list[NamedEntry] = [
    CatalogEntry(name=CatalogName("lab"), owner="ada", comment="tries"),
    SchemaEntry(name=SchemaName("lab", "Shop"), location="/data/shop", owner="ada"),
    TableEntry(name=ORDERS, location="/data/o", managed=True, owner="ada", comment="é", created_ms=1767225600000),
    ViewEntry(name=ORDERS, text="SELECT 1", current=SchemaName("spark_catalog", "Shop"), created_ms=1),
    TableEntry(name=ORDERS, location="/data/o", created_ms=1, created_by="ada"),
    ViewEntry(
        name=ORDERS, text="SELECT 1", current=ORDERS.schema_name, created_by="ada", altered_ms=2, altered_by="bob"
    ),
    ViewEntry(name=ORDERS, text="SELECT 1", current=SchemaName("spark_catalog", "Shop"), properties=(("k", "v"),)),
    TableEntry(name=ORDERS, location="/o", owner="staff", owner_kind=PrincipalKind.GROUP, grants=GRANTS),
    FunctionEntry(
        name=ORDERS,
        parameters=(FunctionParameter(name="x", type="INT", default="1", comment="c"),),
        returns="INT",
        body="x + 1",
        current=SchemaName("spark_catalog", "Shop"),
        columns=(("a", "b"), ()),
        deterministic=False,
        grants=GRANTS,
    ),
]
NAMELESS: list[Entry] = [
    ServerEntry(grants=GRANTS),
    VolumeEntry(name=TableName("c", "s", "raw"), location="/lake/s/.volumes/1", owner="ada", grants=GRANTS),
    LocationEntry(name="Landing", location="/data", owner="ada", grants=GRANTS),
    GroupEntry(name="Staff", members=(user("ada"), group("Others"))),
]


@pytest.mark.parametrize("entry", NAMELESS, ids=lambda entry: type(entry).__name__)
def test_json_round_trip_of_what_privileges_depend_on(entry: Entry) -> None:
    assert from_json(json.loads(json.dumps(to_json(entry)))) == entry
    newer = {**to_json(entry), "since": 7}
    assert to_json(from_json(newer)) == newer


@pytest.mark.parametrize(
    "grant",
    [{"user": "ada"}, {"privilege": "SELECT"}, {"user": "a", "group": "b", "privilege": "SELECT"},
     {"user": "a", "privilege": "select"}, {"role": "a", "privilege": "SELECT"}, "SELECT"],
)  # fmt: skip
def test_a_grant_that_is_not_understood_makes_the_entry_unreadable(grant: object) -> None:
    with pytest.raises(MalformedEntry):
        from_json({"kind": "server", "grants": [grant]})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_json_round_trip_keeps_spelling_and_fields(entry: NamedEntry) -> None:
    again = from_json(json.loads(json.dumps(to_json(entry))))
    assert again == entry
    assert isinstance(again, NamedEntry) and again.name.parts == entry.name.parts


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_unknown_fields_are_written_back(entry: Entry) -> None:
    newer = {**to_json(entry), "policies": [{"mask": "x"}]}
    assert to_json(from_json(newer)) == newer


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "not a JSON object"),
        ({}, "no 'kind'"),
        ({"kind": "share"}, "unknown kind 'share'"),
        ({"kind": "catalog"}, "no 'name'"),
        ({"kind": "catalog", "name": 1}, "'name' is no text"),
        ({"kind": "table", "catalog": "c", "schema": "s", "name": "t", "format": "delta"}, "no 'location'"),
        ({**to_json(ENTRIES[2]), "managed": "yes"}, "'managed' is neither"),
        ({**to_json(ENTRIES[2]), "created_ms": True}, "'created_ms' is no whole number"),
    ],
)
def test_malformed_json_is_one_named_error(value: object, reason: str) -> None:
    with pytest.raises(MalformedEntry, match=reason):
        from_json(value)


_json = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x, max_size=3))
_fields = st.sampled_from(
    ["kind", "catalog", "schema", "name", "location", "format", "managed", "owner", "text", "created_ms", "more"]
)


@given(st.dictionaries(_fields, st.sampled_from(["catalog", "schema", "table", "view", "c"]) | _json))
def test_any_object_is_an_entry_or_malformed(value: dict[str, object]) -> None:
    try:
        entry = from_json(value)
    except MalformedEntry:
        return
    assert from_json(to_json(entry)) == entry
