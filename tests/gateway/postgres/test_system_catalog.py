"""The system catalog: queries of clients, types, rights by listing, and what it must not reach."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from catalog.conditions import (
    FunctionNotFound,
    PostgresNotSupported,
    SystemCatalogWithTables,
    SystemColumnNotFound,
    SystemQueryInvalid,
    SystemQueryTimeout,
    SystemQueryTooLarge,
    SystemValueInvalid,
    TableNotFound,
)
from catalog.errors import SqlError
from engine.sql.postgres.scopes import CatalogSession
from gateway.postgres.catalog.database import CatalogDatabase
from gateway.postgres.catalog.oids import FIRST_OID, OidTable
from gateway.postgres.catalog.system_catalog import Answer, SystemCatalog
from tests.gateway.postgres.catalog_cases import CatalogCase, clients, comparable, golden, load_cases
from tests.gateway.postgres.sample_objects import DATABASE, SCHEMA, USER, run_listing

SESSION = CatalogSession(USER, DATABASE, SCHEMA, {"version": "PostgreSQL 15.18", "search_path": SCHEMA, "jit": "off"})

# Queries whose rows differ from PostgreSQL's: client → names, with the reason.
OTHER_ROWS = {
    ("jdbc", "jdbc (53)"): "indexes have no estimated number of rows",
    ("jdbc", "jdbc (54)"): "indexes have no estimated number of rows",
    ("jdbc", "jdbc (7)"): "indexes are listed only by queries that name pg_index",
    ("jdbc", "jdbc (60)"): "tables belong to the server's role",
    ("jdbc", "jdbc (61)"): "tables belong to the server's role",
    ("pgcli", "pgcli (17)"): "foreign keys have no triggers",
    ("pgcli", "pgcli (25)"): "foreign keys have no triggers",
    ("psql", "\\d orders (2)"): "foreign keys have no triggers",
    ("psql", "\\d+ orders (1)"): "foreign keys have no triggers",
    ("psql", "\\d customers (2)"): "foreign keys have no triggers",
    ("psql", "\\d+ big_orders (3)"): "the text of a view is SQL of Spark",
    ("psql", "\\sv big_orders (2)"): "the text of a view is SQL of Spark",
    ("sqlalchemy", "sa3 (68)"): "the text of a view is SQL of Spark",
    ("tools", "dbeaver tables"): "foreign keys have no triggers",
    ("tools", "dbeaver columns"): "tables have no system columns",
    ("psycopg2", "psycopg2 (3)"): "tables have no composite types",
    ("psycopg3", "psycopg3 (4)"): "tables have no composite types",
}
# Queries that fail: client and name, with the reason.
UNANSWERED = {("pgcli", "pgcli (12)"): "a set-returning function that GROUP BY names"}

CASES = [
    pytest.param(case, answer, id=f"{client}-{case.name}")
    for client in clients()
    for case, answer in zip(load_cases(client), golden(client), strict=True)
]


@pytest.fixture(scope="module")
def catalog() -> Iterator[SystemCatalog]:
    made = SystemCatalog(run_listing, user=USER, database=DATABASE)
    yield made
    made.close()


def _oid_of(catalog: SystemCatalog, name: str) -> int:
    if name.startswith("database:"):
        return _number(catalog, f"SELECT oid FROM pg_database WHERE datname = '{name[9:]}'")
    kind = "regclass" if "." in name else "regnamespace"
    return _number(catalog, f"SELECT '{name}'::{kind}::oid, (SELECT count(*) FROM pg_index)")


def _number(catalog: SystemCatalog, text: str) -> int:
    found = _rows(catalog, text)[0][0]
    assert isinstance(found, int)
    return found


def _answer(catalog: SystemCatalog, text: str, *values: str | None) -> Answer:
    answer = catalog.answer(text, SESSION, values)
    assert answer is not None, text
    return answer


def _rows(catalog: SystemCatalog, text: str, *values: str | None) -> list[tuple[object, ...]]:
    columns = [column.to_pylist() for column in _answer(catalog, text, *values).rows.columns]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(("case", "expected"), CASES)
def test_query_of_client_has_postgresqls_columns_and_rows(
    catalog: SystemCatalog, case: CatalogCase, expected: dict[str, object]
) -> None:
    key = (case.client, case.name)
    case = case.with_oids(lambda name: _oid_of(catalog, name))
    if key in UNANSWERED:
        with pytest.raises(SystemQueryInvalid):
            catalog.answer(case.text, SESSION, case.parameters)
        return
    answer = _answer(catalog, case.text, *case.parameters)
    described = catalog.describe(case.text, SESSION)
    assert described is not None and described.columns == answer.columns
    assert len(described.parameter_oids) == len(case.parameters)
    if "error" in expected:  # PostgreSQL requires a privilege for the sizes of databases
        return
    assert [[column.label, column.type_oid] for column in answer.columns] == expected["columns"]
    if "rows" in expected and key not in OTHER_ROWS:
        rows = zip(*(column.to_pylist() for column in answer.rows.columns), strict=True)
        found = comparable(rows, [column.type_oid for column in answer.columns])
        assert json.loads(json.dumps(found)) == expected["rows"]


def test_names_of_exceptions_are_cases() -> None:
    names = {(case.client, case.name) for client in clients() for case in load_cases(client)}
    assert {*OTHER_ROWS, *UNANSWERED} <= names


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT * FROM orders",
        "SELECT count(*) FROM sales.orders WHERE note = 'pg_class'",
        "SHOW search_path",
        "SET application_name = 'x'",
        "INSERT INTO orders VALUES (1)",
        "SELECT * FROM other.information_schema.tables",
        "SELECT 'unfinished",
        "",
    ],
)
def test_other_statements_are_not_answered(catalog: SystemCatalog, text: str) -> None:
    assert catalog.answer(text, SESSION) is None
    assert catalog.describe(text, SESSION) is None


def test_query_of_catalog_and_table_gets_0a000(catalog: SystemCatalog) -> None:
    with pytest.raises(SystemCatalogWithTables) as raised:
        catalog.answer("SELECT * FROM pg_class c JOIN sales.orders o ON o.id = c.oid", SESSION)
    assert raised.value.sqlstate == "0A000"
    assert "orders" in raised.value.message


# A text, and what it must fail with.
ATTACKS = {
    "SELECT * FROM read_csv('/etc/passwd'), pg_class": FunctionNotFound,
    "SELECT * FROM pg_class, read_text('/etc/passwd') t": FunctionNotFound,
    "SELECT * FROM pg_class, '/etc/passwd'": SqlError,
    "SELECT getenv('HOME') FROM pg_class": FunctionNotFound,
    "SELECT getvariable('x') FROM pg_class": FunctionNotFound,
    "SELECT * FROM pg_class, duckdb_settings()": FunctionNotFound,
    "SELECT * FROM pg_class, pragma_version()": FunctionNotFound,
    "SELECT error('x') FROM pg_class": FunctionNotFound,
    "SELECT pgf_regclass_oid('x') FROM pg_class": FunctionNotFound,
    "SELECT * FROM pg_class, pgf_session": SystemCatalogWithTables,
    "SELECT * FROM pg_class, sqlite_master": SystemCatalogWithTables,
    "SELECT * FROM pg_class, duckdb_tables": SystemCatalogWithTables,
    "SELECT query('SELECT 1') FROM pg_class": FunctionNotFound,
    "SELECT * FROM pg_class, query('SELECT 1')": FunctionNotFound,
    "SELECT * FROM pg_class, query_table('pgf_session')": FunctionNotFound,
    "SELECT pg_read_file('/etc/passwd')": FunctionNotFound,
    "SELECT pg_ls_dir('/')": FunctionNotFound,
    "SELECT pg_sleep(100)": FunctionNotFound,
    "SELECT pg_terminate_backend(1)": FunctionNotFound,
    "SELECT * FROM pg_catalog.pg_shadow_copy": TableNotFound,
    "SELECT nosuch FROM pg_class": SystemColumnNotFound,
    "SELECT c.nosuch FROM pg_class c": SystemColumnNotFound,
    "SELECT 'nosuch'::regclass": TableNotFound,
    "SELECT * FROM pg_class FOR UPDATE": PostgresNotSupported,
    "SELECT * INTO x FROM pg_class": SqlError,
}


@pytest.mark.parametrize("text", ATTACKS)
def test_query_cannot_leave_the_catalog(catalog: SystemCatalog, text: str) -> None:
    with pytest.raises(ATTACKS[text]):
        catalog.answer(text, SESSION)


@pytest.mark.parametrize(
    "text",
    [
        "COPY pg_class TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 8",
        "PRAGMA database_list",
        "CREATE TABLE pg_class (x int)",
        "DROP TABLE pg_class",
        "DELETE FROM pg_class",
        "WITH x AS (SELECT 1) DELETE FROM pg_class",
    ],
)
def test_statement_that_is_no_query_does_not_reach_the_database(catalog: SystemCatalog, text: str) -> None:
    try:
        assert catalog.answer(text, SESSION) is None
    except SqlError as error:
        assert error.sqlstate in ("42601", "0A000")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY (SELECT 1) TO '/tmp/catalog_copy'",
        "ATTACH '/tmp/catalog_attached.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '8GB'",
        "SET lock_configuration = false",
        "SELECT getenv('HOME')",
    ],
)
def test_database_itself_is_locked(text: str) -> None:
    database = CatalogDatabase()
    with pytest.raises((SystemQueryInvalid, SystemValueInvalid), match="disabled|locked|not exist|configuration"):
        database.query(text)
    database.close()


def test_endless_recursion_ends_after_the_timeout() -> None:
    database = CatalogDatabase(timeout_s=0.5)
    with pytest.raises(SystemQueryTimeout) as raised:
        database.query("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t")
    assert raised.value.sqlstate == "57014"
    assert database.query("SELECT 1 AS x").to_pylist() == [{"x": 1}]
    database.close()


def test_query_beyond_the_memory_limit_gets_53200() -> None:
    database = CatalogDatabase(memory_limit="32MB")
    with pytest.raises(SystemQueryTooLarge) as raised:
        database.query("SELECT list(repeat('x', 1000) || i) AS l FROM range(10000000) t(i)")
    assert raised.value.sqlstate == "53200"
    assert database.query("SELECT 1 AS x").to_pylist() == [{"x": 1}]
    database.close()


def test_oids_are_the_same_in_another_process_and_for_another_principal() -> None:
    first, second = OidTable(), OidTable()
    names = [("table", "main", "sales", f"t{number}") for number in range(2000)]
    oids = [first.oid(*name) for name in names]
    assert oids == [second.oid(*name) for name in names]
    assert len(set(oids)) == len(oids)
    assert min(oids) >= FIRST_OID and max(oids) < 1 << 31


def test_oid_of_a_second_name_with_the_same_hash_is_another_one() -> None:
    table = OidTable()
    oid = table.oid("table", "a")
    table._by_oid[oid] = ("table", "other")
    table._by_name.clear()
    assert table.oid("table", "a") != oid


def test_parameters_have_the_types_of_their_columns(catalog: SystemCatalog) -> None:
    text = "SELECT relname FROM pg_class WHERE oid = $1 AND relname = $2 AND relkind = ANY($3) LIMIT $4"
    described = catalog.describe(text, SESSION)
    assert described is not None
    assert described.parameter_oids == (26, 19, 1002, 20)
    oid = _rows(catalog, "SELECT 'sales.orders'::regclass::oid")[0][0]
    assert _rows(catalog, text, str(oid), "orders", "{r,v}", "5") == [("orders",)]


def test_result_names_objects_for_registered_types(catalog: SystemCatalog) -> None:
    text = "SELECT 'sales.orders'::regclass, 'int4'::regtype, 'array_in'::regproc, 'sales'::regnamespace"
    assert _rows(catalog, text) == [("orders", "integer", "array_in", "sales")]
    assert [column.type_oid for column in _answer(catalog, text).columns] == [2205, 2206, 24, 4089]


def test_setting_by_set_config_is_reported(catalog: SystemCatalog) -> None:
    answer = _answer(catalog, "SELECT current_setting('jit') AS cur, set_config('jit', 'on', false) AS new")
    assert answer.settings == (("jit", "on"),)
    assert answer.rows.to_pylist() == [{"cur": "off", "new": "on"}]


INDEX_COLUMNS = """SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid
WHERE i.indrelid = 'sales.orders'::regclass AND i.indisprimary ORDER BY a.attnum"""


@pytest.mark.parametrize("earlier", ["SELECT 1 FROM pg_namespace", "SELECT attname FROM pg_attribute"])
def test_index_has_its_columns_after_any_query(earlier: str) -> None:
    catalog = SystemCatalog(run_listing, user=USER, database=DATABASE)
    try:
        _answer(catalog, earlier)
        assert _rows(catalog, INDEX_COLUMNS) == [("id",)]
    finally:
        catalog.close()


@pytest.mark.parametrize(
    ("table", "expected"), [("items", (2, False)), ("orders", (0, True)), ("big_orders", (0, False))]
)
def test_counts_of_constraints_and_indexes_are_in_the_first_answer(table: str, expected: tuple[int, bool]) -> None:
    catalog = SystemCatalog(run_listing, user=USER, database=DATABASE)
    try:
        text = f"SELECT c.relchecks, c.relhasindex FROM pg_class c WHERE c.relname = '{table}'"
        assert _rows(catalog, text) == [expected]
    finally:
        catalog.close()


def test_name_of_a_sequence_is_an_oid_in_the_first_answer() -> None:
    catalog = SystemCatalog(run_listing, user=USER, database=DATABASE)
    try:
        text = "SELECT pg_get_serial_sequence('items', 'id'), pg_get_serial_sequence('items', 'id')::regclass::oid > 0"
        assert _rows(catalog, text) == [("sales.items_id_seq", True)]
    finally:
        catalog.close()
