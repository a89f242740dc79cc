"""The system catalogs that the connections of a principal share."""

from __future__ import annotations

from types import MappingProxyType

import pyarrow as pa
import pytest

from engine.runtime.identity import Identity
from engine.runtime.statement import Statement
from engine.sql.postgres.scopes import CatalogSession
from engine.statements.describe.statement import DescribeTable
from engine.statements.show.statement import ShowViews
from gateway.postgres import client_catalog
from gateway.postgres.client_catalog import ClientCatalog, SharedCatalogs
from tests.gateway.postgres.sample_objects import DATABASE, SCHEMA, run_listing

TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('sales', 'pg_temp_3') ORDER BY 1"
LISTED = ["big_orders", "customers", "items", "orders", "pairs"]


COLUMNS = """(SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
FROM pg_attribute WHERE attrelid = 'mine'::regclass)"""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> SharedCatalogs:
    made = SharedCatalogs()
    monkeypatch.setattr(client_catalog, "_SHARED", made)
    return made


def connect(user: str, temporary_view: str | None = None, groups: frozenset[str] = frozenset()) -> ClientCatalog:
    def run(statement: Statement) -> pa.Table:
        if isinstance(statement, DescribeTable):
            return pa.table(
                {"col_name": ["a", "b"], "data_type": ["int", "decimal(10,2)"], "comment": [None, "In euros"]}
            )
        rows = run_listing(statement)
        if temporary_view is not None and isinstance(statement, ShowViews):
            return pa.table({"namespace": ["", "global_temp"], "viewName": [temporary_view, "everyones"]})
        return rows

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


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("has_table_privilege('mine', 'SELECT')", True),
        ("has_table_privilege('pg_temp_3.mine'::regclass, 'SELECT')", True),
        ("has_table_privilege('mine', 'INSERT')", False),
        ("'mine'::regclass::text", "mine"),
        ("(SELECT relpersistence || relkind FROM pg_class WHERE oid = 'mine'::regclass)", "tv"),
        ("pg_table_is_visible('mine'::regclass)", True),
        ("(SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())", "pg_temp_3"),
        (COLUMNS, "a integer, b numeric(10,2)"),
        ("col_description('mine'::regclass, 2)", "In euros"),
    ],
)
def test_temporary_view_is_in_the_system_catalog(shared: SharedCatalogs, expression: str, expected: object) -> None:
    answer = connect("ann", temporary_view="mine").answer(
        f"SELECT {expression} AS v, (SELECT 1 FROM pg_am LIMIT 1)", []
    )
    assert answer is not None
    assert answer.rows.column(0).to_pylist() == [expected]


def test_least_recently_used_catalog_is_released(shared: SharedCatalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_catalog, "DATABASES_MAX", 2)
    catalogs = [connect(user) for user in ("ann", "bob", "eve")]
    for _ in range(2):
        assert [tables(catalog) for catalog in catalogs] == [LISTED] * 3
        assert len(shared._entries) == 2
