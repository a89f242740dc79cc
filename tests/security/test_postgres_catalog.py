"""The system catalog of PostgreSQL contains what the principal may see, and no other name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from engine.runtime.statement import Statement
from engine.sql.postgres.scopes import CatalogSession
from gateway.postgres.catalog.system_catalog import SystemCatalog
from tests.security.guarded_lake import GuardedLake

_TABLES = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'sales' ORDER BY 1"
)


class _Catalogs:
    """Catalogs of several principals over one lake."""

    def __init__(self, folder: Path) -> None:
        self.lake = GuardedLake(folder)
        self._catalogs: dict[str, SystemCatalog] = {}

    def of(self, user: str) -> SystemCatalog:
        if user not in self._catalogs:

            def run(statement: Statement) -> pa.Table:
                return self.lake.answer(user, statement)

            self._catalogs[user] = SystemCatalog(run, user=user, database="spark_catalog")
        return self._catalogs[user]

    def rows(self, user: str, text: str) -> list[tuple[object, ...]]:
        answer = self.of(user).answer(text, CatalogSession(user, "spark_catalog", "sales", {}))
        assert answer is not None
        return list(zip(*(column.to_pylist() for column in answer.rows.columns), strict=True))

    def close(self) -> None:
        for catalog in self._catalogs.values():
            catalog.close()


@pytest.fixture
def catalogs(tmp_path: Path) -> Iterator[_Catalogs]:
    made = _Catalogs(tmp_path / "lake")
    made.lake.do(
        "root",
        "CREATE SCHEMA sales",
        "CREATE SCHEMA secrets",
        "CREATE TABLE secrets.schemes_q (hidden_column STRING)",
        "CREATE TABLE sales.paid (id BIGINT NOT NULL, n DECIMAL(10,2), CONSTRAINT paid_pk PRIMARY KEY (id))",
        "CREATE TABLE sales.hidden (secret STRING COMMENT 'a hidden comment')",
        "GRANT USE SCHEMA ON SCHEMA sales TO `ann`",
        "GRANT SELECT ON TABLE sales.paid TO `ann`",
    )
    yield made
    made.close()


def test_principal_sees_granted_tables_with_types_and_keys(catalogs: _Catalogs) -> None:
    assert catalogs.rows("root", _TABLES) == [("hidden",), ("paid",)]
    assert catalogs.rows("ann", _TABLES) == [("paid",)]
    columns = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'sales'"
    expected = [("id", "bigint", "NO"), ("n", "numeric", "YES")]
    assert catalogs.rows("ann", f"{columns} ORDER BY ordinal_position") == expected
    keys = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
    assert catalogs.rows("ann", keys) == [("paid_pk", "PRIMARY KEY (id)")]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT relname FROM pg_class",
        "SELECT nspname FROM pg_namespace",
        "SELECT attname FROM pg_attribute",
        "SELECT description FROM pg_description",
        "SELECT table_schema || '.' || table_name FROM information_schema.tables",
        "SELECT column_name FROM information_schema.columns",
        "SELECT schema_name FROM information_schema.schemata",
        "SELECT tablename FROM pg_tables",
        "SELECT to_regclass('sales.hidden')::text, to_regclass('secrets.schemes_q')::text",
        "SELECT n::oid::regclass::text FROM generate_series(1, 10) n",
        "SELECT rolname FROM pg_roles",
    ],
)
def test_no_relation_contains_a_hidden_name(catalogs: _Catalogs, text: str) -> None:
    catalogs.rows("root", text)
    found = str(catalogs.rows("ann", text))
    assert "hidden" not in found and "secret" not in found and "schemes_q" not in found and "('root',)" not in found


def test_oid_of_another_principals_table_names_nothing(catalogs: _Catalogs) -> None:
    oid = catalogs.rows("root", "SELECT 'sales.hidden'::regclass::oid")[0][0]
    assert catalogs.rows("ann", f"SELECT {oid}::regclass::text") == [(str(oid),)]
    assert catalogs.rows("ann", f"SELECT attname FROM pg_attribute WHERE attrelid = {oid}") == []
    assert catalogs.rows("ann", f"SELECT obj_description({oid}), pg_table_is_visible({oid})") == [(None, False)]


def test_oids_are_the_same_for_all_principals(catalogs: _Catalogs) -> None:
    text = "SELECT 'sales.paid'::regclass::oid"
    assert catalogs.rows("root", text) == catalogs.rows("ann", text)


def test_grant_and_change_are_visible_after_forget(catalogs: _Catalogs) -> None:
    assert catalogs.rows("ann", _TABLES) == [("paid",)]
    catalogs.lake.do("root", "GRANT SELECT ON TABLE sales.hidden TO `ann`", "ALTER TABLE sales.paid ADD COLUMN c DATE")
    catalogs.of("ann").forget()
    assert catalogs.rows("ann", _TABLES) == [("hidden",), ("paid",)]
    count = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'sales.paid'::regclass"
    assert catalogs.rows("ann", count) == [(3,)]
    catalogs.lake.do("root", "REVOKE SELECT ON TABLE sales.hidden FROM `ann`")
    catalogs.of("ann").forget()
    assert catalogs.rows("ann", _TABLES) == [("paid",)]
