"""The system catalogs that the connections of a principal share."""

from __future__ import annotations

from types import MappingProxyType

import pyarrow as pa
import pytest

from engine.runtime.identity import Identity
from engine.runtime.statement import Statement
from engine.sql.postgres.scopes import CatalogSession
from engine.statements.listings.statement import ListTables
from gateway.postgres import client_catalog
from gateway.postgres.client_catalog import ClientCatalog, SharedCatalogs
from tests.gateway.postgres.sample_objects import DATABASE, SCHEMA, run_listing

TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sales' ORDER BY 1"
LISTED = ["big_orders", "customers", "items", "orders", "pairs"]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> SharedCatalogs:
    made = SharedCatalogs()
    monkeypatch.setattr(client_catalog, "_SHARED", made)
    return made


def connect(user: str, temporary_view: str | None = None, groups: frozenset[str] = frozenset()) -> ClientCatalog:
    def run(statement: Statement) -> pa.Table:
        rows = run_listing(statement)
        if temporary_view is None or not isinstance(statement, ListTables):
            return rows
        row = (DATABASE, SCHEMA, temporary_view, "VIEW", None)
        added = dict(zip(rows.column_names, row, strict=True))
        return pa.concat_tables([rows, pa.Table.from_pylist([added], schema=rows.schema)])

    session = CatalogSession(user, DATABASE, SCHEMA, MappingProxyType({}))
    return ClientCatalog(Identity(user, groups=groups), run, lambda: session)


def tables(catalog: ClientCatalog) -> list[str]:
    answer = catalog.answer(TABLES, [])
    assert answer is not None
    names: list[str] = answer.rows.column(0).to_pylist()
    return names


def test_connections_of_a_principal_share_a_catalog(shared: SharedCatalogs) -> None:
    first, second, other = connect("ann"), connect("ann"), connect("bob")
    assert [tables(each) for each in (first, second, other)] == [LISTED] * 3
    assert len(shared._entries) == 2
    first.close()
    assert len(shared._entries) == 2
    second.close()
    other.close()
    assert not shared._entries and not shared._connections


def test_logins_with_other_groups_have_catalogs_of_their_own(shared: SharedCatalogs) -> None:
    for catalog in (connect("ann"), connect("ann", groups=frozenset({"staff"}))):
        tables(catalog)
    assert len(shared._entries) == 2


def test_session_sees_its_own_temporary_views(shared: SharedCatalogs) -> None:
    own, other = connect("ann", temporary_view="mine"), connect("ann")
    for _ in range(3):
        assert tables(own) == sorted([*LISTED, "mine"])
        assert tables(other) == LISTED
    assert len(shared._entries) == 1


def test_least_recently_used_catalog_is_released(shared: SharedCatalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_catalog, "DATABASES_MAX", 2)
    catalogs = [connect(user) for user in ("ann", "bob", "eve")]
    for _ in range(2):
        assert [tables(catalog) for catalog in catalogs] == [LISTED] * 3
        assert len(shared._entries) == 2
