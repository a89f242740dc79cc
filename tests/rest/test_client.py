"""Our REST catalog client, against a server process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.catalog import Catalog
from catalog.changes import CreateTable, RenameTable
from catalog.conditions import (
    RestCatalogNotAvailable,
    RestCatalogRefused,
    RestConflict,
    RestOutcomeUnknown,
    TableAmbiguous,
)
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.names import TableName
from catalog.rest.client import RestClient
from catalog.rest.names import RestCatalogs, RestNames, location_of
from catalog.rest.options import RestOptions
from catalog.store.store import MemoryStore
from tests.rest.catalog_server import CLIENT_ID, CLIENT_SECRET
from tests.rest.conftest import RestServer

SHOP = ("shop",)


def properties(client: RestClient, table: str = "empty") -> dict[str, str]:
    found = client.load(SHOP, table)
    assert found is not None
    return dict(found.metadata["properties"])


def set_property(client: RestClient, key: str, requirements: list[Any] | None = None) -> Any:
    update = {"action": "set-properties", "updates": {key: "1"}}
    return client.commit(SHOP, "empty", requirements or [], [update])


def test_lists_are_read_page_by_page(server: RestServer) -> None:
    client = server.client()
    assert list(client.namespaces()) == [("a",), ("b",), ("shop",)]
    assert list(client.namespaces(SHOP)) == [("shop", "eu")]
    assert sorted(client.tables(SHOP)) == ["Mixed", "empty", "orders"]
    assert list(client.tables(("nowhere",))) == []


def test_names_are_found_without_regard_to_case(server: RestServer) -> None:
    names = RestNames(server.client())
    assert (names.schemas(), RestNames(server.client(), is_nested=True).schemas()) == (
        ["a", "b", "shop"],
        ["a", "b", "shop", "shop.eu"],
    )
    assert (names.find_schema("SHOP"), names.find_schema("shop.eu"), names.find_schema("x")) == (
        "shop",
        "shop.eu",
        None,
    )
    found = {
        each: names.find(*each) for each in (("Shop", "MIXED"), ("shop.eu", "orders"), ("shop", "none"), ("x", "y"))
    }
    assert {each: str(entry.name) if entry else None for each, entry in found.items()} == {
        ("Shop", "MIXED"): "`elsewhere`.`shop`.`Mixed`",
        ("shop.eu", "orders"): "`elsewhere`.`shop.eu`.`orders`",
        ("shop", "none"): None,
        ("x", "y"): None,
    }
    entry = found["shop.eu", "orders"]
    assert entry is not None and RestCatalogs([server.options()]).load(entry.location) is not None


def test_a_name_that_two_tables_have_but_for_case_is_ambiguous(server: RestServer) -> None:
    schema = server.other_client().load_table("shop.empty").schema()
    for name in ("b.Two", "b.two"):
        server.other_client().create_table(name, schema)
    names = RestNames(server.client())
    exact = names.find("b", "two")
    assert exact is not None and exact.name.table == "two"
    with pytest.raises(TableAmbiguous, match="b.Two, b.two"):
        names.find("b", "TWO")


def test_a_table_that_did_not_change_is_not_sent_again(server: RestServer) -> None:
    client = server.client()
    first = client.load(SHOP, "orders")
    assert client.load(SHOP, "orders") is first
    server.other_client().load_table("shop.orders").append(
        server.other_client().load_table("shop.orders").scan().to_arrow()
    )
    changed = client.load(SHOP, "orders")
    assert changed is not None and changed is not first
    assert client.load(SHOP, "gone") is None


def test_an_oauth_client_gets_a_token_and_another_when_that_ends(server: RestServer) -> None:
    now = [0.0]
    options = server.options(token="", credential=f"{CLIENT_ID}:{CLIENT_SECRET}")
    client = RestClient(options, clock=lambda: now[0])
    server.requests()
    assert client.load(SHOP, "orders") and client.load(SHOP, "orders")
    assert sum("oauth" in each for each in server.requests()) == 1
    now[0] = 3600
    assert client.load(SHOP, "orders")
    assert sum("oauth" in each for each in server.requests()) == 1
    assert RestClient(options).load(SHOP, "orders")  # by a token that is the only one from now on
    assert client.load(SHOP, "orders")
    assert sum("oauth" in each for each in server.requests()) == 2


@pytest.mark.parametrize("given", [{"token": "a-wrong-t0ken"}, {"token": "", "credential": "gateway:a-wrong-s3cret"}])
def test_wrong_credentials_are_refused_and_not_shown(server: RestServer, given: dict[str, str]) -> None:
    with pytest.raises(RestCatalogRefused) as error:
        server.client(**given).load(SHOP, "orders")
    assert "a-wrong" not in str(error.value) and "a-wrong" not in repr(server.options(**given))


def test_reads_are_tried_again(server: RestServer) -> None:
    for status in (503, 502, 0):
        server.faults({"method": "GET", "contains": "/tables/", "status": status})
        assert server.client().load(SHOP, "orders") is not None
    server.faults(*[{"method": "GET", "contains": "/tables/", "status": 503}] * 3)
    with pytest.raises(RestCatalogNotAvailable, match="status 503"):
        server.client().load(SHOP, "orders")


@pytest.mark.parametrize("status", [400, 401, 403, 409, 500, 503])
@pytest.mark.parametrize("given", [{}, {"token": "", "credential": f"{CLIENT_ID}:{CLIENT_SECRET}"}])
def test_an_error_that_repeats_the_token_does_not_show_it(
    server: RestServer, given: dict[str, str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    client = server.client(**given)
    client.ensure_answers()
    asks: dict[str, Callable[[], object]] = {
        "GET": lambda: client.load(SHOP, "empty"),
        "POST": lambda: set_property(client, "x"),
    }
    for method, ask in asks.items():
        server.faults(*4 * [{"method": method, "contains": "/empty", "echoes": True, "status": status}])
        with pytest.raises(SqlError) as error:
            ask()
        assert "Bearer ***" in str(error.value) and "a-fixed-token" not in f"{error.value}{caplog.text}"
    server.faults()


def test_a_busy_catalog_says_when_to_come_again(server: RestServer) -> None:
    slept: list[float] = []
    client = RestClient(server.options(), sleep=slept.append)
    client.ensure_answers()
    busy = {"method": "GET", "contains": "/shop", "status": 503}
    server.faults({**busy, "retry_after": "3"}, {**busy, "status": 429, "retry_after": "Mon, 23 Nov 2026 02:00:00 GMT"})
    assert client.has_namespace(SHOP) and slept == [3.0, 0.5]
    server.faults({**busy, "retry_after": "600"})
    with pytest.raises(RestCatalogNotAvailable, match="503"):
        client.has_namespace(SHOP)
    server.faults({"method": "POST", "contains": "/empty", "status": 429, "retry_after": "2"})
    set_property(client, "after.busy")
    assert slept[2:] == [2.0] and properties(client)["after.busy"] == "1"
    server.faults(*2 * [{"method": "POST", "contains": "/empty", "status": 429}])
    with pytest.raises(RestCatalogNotAvailable, match="429"):
        set_property(client, "never")


def test_failed_token_request_is_not_repeated_at_once(server: RestServer) -> None:
    now = [100.0]
    options = server.options(token="", credential=f"{CLIENT_ID}:{CLIENT_SECRET}", token_url="http://127.0.0.1:9/t")
    client = RestClient(options, clock=lambda: now[0], sleep=lambda seconds: None)
    for _ in range(2):
        with pytest.raises(RestCatalogNotAvailable, match="no token is given out"):
            client.ensure_answers()
    transport = client._transport
    assert transport._no_token_until == 105.0
    now[0] = 106.0
    with pytest.raises(RestCatalogNotAvailable):
        client.ensure_answers()
    assert transport._no_token_until == 111.0


def test_a_server_that_is_not_there_is_one_error() -> None:
    options = RestOptions(name="gone", uri="http://127.0.0.1:9", token="s3cret")
    client = RestClient(options, sleep=lambda seconds: None)
    with pytest.raises(RestCatalogNotAvailable, match="Connection refused") as error:
        client.load(SHOP, "orders")
    assert "s3cret" not in str(error.value)
    with pytest.raises(RestCatalogNotAvailable):
        set_property(client, "x")


CASES: dict[str, tuple[dict[str, Any], type[SqlError], bool]] = {
    "busy before": ({"status": 503}, RestOutcomeUnknown, False),
    "busy after": ({"status": 503, "applies": True}, RestOutcomeUnknown, True),
    "refused": ({"status": 403}, RestCatalogRefused, False),
    "wrong": ({"status": 400}, RestCatalogRefused, False),
    "broken before": ({"status": 500}, RestOutcomeUnknown, False),
    "broken after": ({"status": 502, "applies": True}, RestOutcomeUnknown, True),
    "late": ({"status": 504, "applies": True}, RestOutcomeUnknown, True),
    "cut off": ({"status": 0, "applies": True}, RestOutcomeUnknown, True),
    "cut off in the answer": ({"status": 200, "applies": True, "cut": 9}, RestOutcomeUnknown, True),
    "no metadata": ({"status": 200, "applies": True, "body": {}}, RestOutcomeUnknown, True),
    "accepted": ({"status": 202, "applies": True}, RestOutcomeUnknown, True),
    "no content": ({"status": 204, "applies": True}, RestOutcomeUnknown, True),
    "a proxy's limit": ({"status": 408, "applies": True}, RestOutcomeUnknown, True),
    "a proxy's error": ({"status": 520, "applies": True}, RestOutcomeUnknown, True),
    "a proxy's timeout": ({"status": 524, "applies": True}, RestOutcomeUnknown, True),
    "conflict": ({"status": 409}, RestConflict, False),
}


@pytest.mark.parametrize("case", CASES)
def test_outcome_of_a_failed_commit(server: RestServer, case: str) -> None:
    fault, error, is_there = CASES[case]
    client = server.client()
    server.faults({"method": "POST", "contains": "/tables/", **fault})
    with pytest.raises(error):
        set_property(client, case)
    assert (case in properties(client)) is is_there


def test_an_answer_that_is_too_long(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read would be the same again, and a committed change must not be reported as a failure."""
    client = server.client()
    before = properties(client)
    monkeypatch.setattr("catalog.rest.transport.ANSWER_BYTES_MAX", 100)
    server.requests()
    with pytest.raises(RestCatalogNotAvailable, match="more than 100 bytes"):
        properties(client, "orders")
    assert len(server.requests()) == 1
    with pytest.raises(RestOutcomeUnknown, match="more than 100 bytes"):
        set_property(client, "long")
    monkeypatch.undo()
    assert properties(client) == {**before, "long": "1"}


def test_a_read_that_is_cut_off_is_tried_again(server: RestServer) -> None:
    server.faults({"method": "GET", "contains": "/namespaces", "status": 200, "applies": True, "cut": 1})
    assert list(server.client().namespaces()) == [("a",), ("b",), ("shop",)]


def test_requirements_are_checked_and_updates_applied(server: RestServer) -> None:
    client = server.client()
    found = client.load(SHOP, "empty")
    assert found is not None
    uuid = {"type": "assert-table-uuid", "uuid": found.metadata["table-uuid"]}
    after = set_property(client, "mine", [uuid])
    assert after.metadata["properties"]["mine"] == "1"
    assert server.other_client().load_table("shop.empty").properties["mine"] == "1"
    with pytest.raises(RestConflict):
        set_property(client, "other", [{**uuid, "uuid": "00000000-0000-4000-8000-000000000000"}])
    assert client.commit(SHOP, "gone", [], []) is None


def test_a_table_is_made_at_once_or_with_the_first_commit(server: RestServer) -> None:
    client = server.client()
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
    made = client.create(("a",), {"name": "now", "schema": schema})
    assert made.metadata["schemas"][0]["fields"][0]["name"] == "id"
    with pytest.raises(RestConflict):
        client.create(("a",), {"name": "now", "schema": schema})
    staged = client.create(("a",), {"name": "later", "schema": schema, "stage-create": True})
    assert client.load(("a",), "later") is None
    metadata = staged.metadata
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
    ]
    assert client.commit(("a",), "later", [{"type": "assert-create"}], updates) is not None
    assert server.other_client().load_table("a.later").schema().find_field("id").field_id == 1
    assert (client.drop(("a",), "later", purge=False), client.drop(("a",), "later", purge=False)) == (True, False)


@pytest.mark.parametrize("was_made", [True, False])
def test_a_rename_whose_answer_is_lost(server: RestServer, was_made: bool) -> None:
    """The record, with its policies, follows a table that was renamed, and stays with one that was not."""
    rest = RestCatalogs([server.options()])
    catalog = Catalog(MemoryStore(), rest=rest)
    catalog.record_rest_catalogs()
    old, new = (TableName("elsewhere", "b", f"{each}_{was_made}") for each in ("old", "new"))
    other = server.other_client()
    other.create_table(f"b.{old.table}", other.load_table("shop.empty").schema())
    address = location_of("elsewhere", ("b",), old.table)
    catalog.change(CreateTable(TableEntry(name=old, location=address, format="iceberg", owner="ann")))
    server.faults({"method": "POST", "contains": "/rename", "status": 502, "applies": was_made})
    renaming = RenameTable(old, TableName("elsewhere", "B", new.table))
    if was_made:
        catalog.change(renaming)
    else:
        with pytest.raises(RestOutcomeUnknown):
            catalog.change(renaming)
    name = new if was_made else old
    recorded = {each.name: each for each in catalog.view().state.relations.values()}
    assert recorded.keys() == {name}
    entry = recorded[name]
    assert isinstance(entry, TableEntry)
    assert (entry.location, entry.owner) == (location_of("elsewhere", ("b",), name.table), "ann")


@pytest.mark.parametrize("prefix", ["../other", "a/./b", "%2e%2e/other"])
def test_a_prefix_does_not_lead_out_of_the_catalog(server: RestServer, prefix: str) -> None:
    body = {"defaults": {}, "overrides": {"prefix": prefix}}
    server.faults({"method": "GET", "contains": "/config", "status": 200, "body": body})
    with pytest.raises(RestCatalogNotAvailable, match="lead elsewhere"):
        list(server.client().namespaces())


def test_a_rename_is_recorded_without_asking_again(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = RestCatalogs([server.options()])
    catalog = Catalog(MemoryStore(), rest=rest)
    catalog.record_rest_catalogs()
    old, new = TableName("elsewhere", "b", "before"), TableName("elsewhere", "a", "after")
    server.other_client().create_table("b.before", server.other_client().load_table("shop.empty").schema())
    address = location_of("elsewhere", ("b",), "before")
    catalog.change(CreateTable(TableEntry(name=old, location=address, format="iceberg")))
    rename = RestClient.rename

    def rename_and_leave(client: RestClient, *given: Any) -> bool:
        made = rename(client, *given)
        monkeypatch.setattr("catalog.rest.client.RestClient._read", None)  # it cannot be called
        return made

    monkeypatch.setattr(RestClient, "rename", rename_and_leave)
    catalog.change(RenameTable(old, new))
    assert catalog.view().state.relations.keys() == {new}
