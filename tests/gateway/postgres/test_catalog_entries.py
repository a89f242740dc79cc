"""The system catalog's answers about privileges, the texts of views, and functions of users."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from engine.runtime.statement import Statement
from engine.sql.postgres.scopes import CatalogSession
from engine.statements.listings.statement import ListEntries, ObjectKind
from gateway.postgres.catalog.system_catalog import SystemCatalog
from tests.gateway.postgres.sample_objects import DATABASE, FUNCTIONS, SCHEMA, USER, run_listing

SESSION = CatalogSession(USER, DATABASE, SCHEMA, {"version": "PostgreSQL 15.18"})
ELSEWHERE = CatalogSession(USER, DATABASE, "empty", {"version": "PostgreSQL 15.18"})


def run_with_functions(statement: Statement) -> pa.Table:
    if isinstance(statement, ListEntries) and statement.kind is ObjectKind.FUNCTION:
        return pa.table({"entry": [json.dumps(entry) for entry in FUNCTIONS]})
    return run_listing(statement)


@pytest.fixture(scope="module")
def catalog() -> Iterator[SystemCatalog]:
    made = SystemCatalog(run_with_functions, user=USER, database=DATABASE)
    yield made
    made.close()


def rows(catalog: SystemCatalog, text: str, session: CatalogSession = SESSION) -> list[tuple[Any, ...]]:
    answer = catalog.answer(text, session)
    assert answer is not None, text
    return [tuple(row.values()) for row in answer.rows.to_pylist()]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("has_table_privilege('sales.orders', 'SELECT')", True),
        ("has_table_privilege('sales.orders', 'INSERT')", True),
        ("has_table_privilege('sales.customers', 'INSERT')", False),
        ("has_table_privilege('sales.customers', 'INSERT, SELECT')", True),
        ("has_table_privilege('customers', 'select')", True),
        ("has_table_privilege('\"sales\".\"customers\"', 'UPDATE')", False),
        ("has_table_privilege('sales.big_orders'::regclass, 'SELECT WITH GRANT OPTION')", True),
        ("has_table_privilege('sales.orders'::regclass, 'SELECT WITH GRANT OPTION')", False),
        ("has_table_privilege('alice', 'sales.orders', 'DELETE')", True),
        ("has_table_privilege(current_user, 'sales.customers', 'DELETE')", False),
        ("has_table_privilege('bob', 'sales.orders', 'SELECT')", False),
        ("has_table_privilege('sales.orders', 'REFERENCES')", False),
        ("has_table_privilege('pg_class', 'SELECT')", True),
        ("has_table_privilege('information_schema.tables', 'INSERT')", False),
        ("has_table_privilege(0::oid, 'SELECT')", None),
        ("has_any_column_privilege('sales.customers', 'SELECT')", True),
        ("has_column_privilege('sales.customers', 'name', 'UPDATE')", False),
        ("has_column_privilege('alice', 'sales.orders', 'note', 'UPDATE')", True),
        ("has_schema_privilege('sales', 'CREATE')", True),
        ("has_schema_privilege('empty', 'CREATE')", False),
        ("has_schema_privilege('empty', 'USAGE')", True),
        ("has_schema_privilege('pg_catalog', 'CREATE')", False),
        ("has_database_privilege('main', 'CONNECT')", True),
        ("has_database_privilege(current_database(), 'CREATE')", False),
        ("has_function_privilege('sales.plus', 'EXECUTE')", True),
        ("has_function_privilege('sales.lines', 'EXECUTE')", False),
        ("has_function_privilege('format_type', 'EXECUTE')", True),
    ],
)
def test_privileges_are_those_of_the_principal(catalog: SystemCatalog, call: str, expected: bool | None) -> None:
    assert rows(catalog, f"SELECT pg_catalog.{call}") == [(expected,)]


def test_name_without_schema_is_one_of_the_current_schema(catalog: SystemCatalog) -> None:
    text = "SELECT has_table_privilege('orders', 'SELECT')"
    for session, expected in ((SESSION, True), (ELSEWHERE, None), (SESSION, True)):
        assert rows(catalog, text, session) == [(expected,)]


@pytest.mark.parametrize("relation", ["table_privileges", "role_table_grants"])
def test_grants_are_listed_by_table(catalog: SystemCatalog, relation: str) -> None:
    text = (
        f"SELECT table_name, grantee, privilege_type, is_grantable FROM information_schema.{relation} "
        "WHERE table_schema = 'sales' ORDER BY 1, 3"
    )
    granted = ("DELETE", "INSERT", "SELECT", "TRUNCATE", "UPDATE")
    writes = [(table, USER, name, "NO") for table in ("items", "orders", "pairs") for name in granted]
    assert rows(catalog, text) == [("big_orders", USER, "SELECT", "YES"), ("customers", USER, "SELECT", "NO"), *writes]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT definition FROM pg_views WHERE viewname = 'big_orders'",
        "SELECT view_definition FROM information_schema.views WHERE table_name = 'big_orders'",
        "SELECT pg_get_viewdef('sales.big_orders'::regclass, true)",
        "SELECT pg_get_viewdef(oid) FROM pg_class WHERE relname = 'big_orders'",
    ],
)
def test_text_of_a_view_is_in_the_catalog(catalog: SystemCatalog, text: str) -> None:
    assert rows(catalog, text) == [("SELECT 1 AS one;",)]


def test_functions_of_users_are_in_pg_proc(catalog: SystemCatalog) -> None:
    text = """
        SELECT p.proname, n.nspname, p.provolatile, p.proretset, p.pronargs, p.pronargdefaults, p.proargnames, p.prosrc,
            pg_get_function_arguments(p.oid), pg_get_function_identity_arguments(p.oid),
            pg_get_function_result(p.oid), pg_function_is_visible(p.oid)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname <> 'pg_catalog' ORDER BY 1"""
    lines = ("Lines", SCHEMA, "v", True, 0, 0, ["n"], "", "", "", "TABLE(n integer[])", True)
    arguments = ("x integer, y text DEFAULT 'a'", "x integer, y text")
    plus = ("plus", SCHEMA, "i", False, 2, 1, ["x", "y"], "x + 1", *arguments, "numeric", True)
    assert rows(catalog, text) == [lines, plus]
    assert [row[-1] for row in rows(catalog, text, ELSEWHERE)] == [False, False]


def test_routines_and_parameters_are_in_information_schema(catalog: SystemCatalog) -> None:
    text = (
        "SELECT routine_schema, routine_name, data_type, routine_definition FROM information_schema.routines ORDER BY 2"
    )
    assert rows(catalog, text) == [(SCHEMA, "Lines", "record", None), (SCHEMA, "plus", "numeric", "x + 1")]
    text = """SELECT p.parameter_name, p.parameter_mode, p.ordinal_position, p.data_type
        FROM information_schema.parameters p JOIN information_schema.routines r USING (specific_name)
        ORDER BY r.routine_name, 3"""
    assert rows(catalog, text) == [("n", "OUT", 1, "integer[]"), ("x", "IN", 1, "integer"), ("y", "IN", 2, "text")]


def test_definition_of_a_function_is_a_statement(catalog: SystemCatalog) -> None:
    text = "SELECT pg_get_functiondef('sales.plus'::regproc)"
    (found,) = rows(catalog, text)
    assert found[0].split("\n")[:2] == [
        "CREATE OR REPLACE FUNCTION sales.plus(x integer, y text DEFAULT 'a')",
        " RETURNS numeric",
    ]
