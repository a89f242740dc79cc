"""psqlODBC, the ODBC driver of PostgreSQL's project, through unixODBC: catalog functions, types, parameters, errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer
from tests.paths import PSQLODBC

pytestmark = [pytest.mark.psqlodbc, pytest.mark.slow]

SCHEMA = "odbc_calls"
DEFINITIONS = (
    f"CREATE SCHEMA {SCHEMA}",
    f"CREATE TABLE {SCHEMA}.customers (id BIGINT, region INT, name STRING, CONSTRAINT buyers PRIMARY KEY (id, region))",
    f"CREATE TABLE {SCHEMA}.orders (id BIGINT PRIMARY KEY, customer BIGINT, region INT, total DECIMAL(10, 2), "
    f"day DATE, CONSTRAINT buyer FOREIGN KEY (customer, region) REFERENCES {SCHEMA}.customers (id, region))",
    f"INSERT INTO {SCHEMA}.orders VALUES (1, 7, 1, 2.50, DATE'2024-01-02'), (2, 7, 1, NULL, NULL)",
)


@pytest.fixture(scope="module")
def found(server: RealServer) -> Iterator[dict[str, Any]]:
    """Yields the results of the calls."""
    address = f"host=127.0.0.1 port={server.postgres_port} user=ada dbname=postgres"
    environment = client_environment("psqlodbc", "pyodbc==5.5.0")
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in DEFINITIONS:
            connection.execute(statement)
        script = Path(__file__).with_name("psqlodbc_calls.py")
        command: list[str | Path] = [environment / "python", script, str(PSQLODBC), str(server.postgres_port), SCHEMA]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def test_catalog_functions_describe_tables_and_columns(found: dict[str, Any]) -> None:
    assert sorted(found["tables"]) == [[SCHEMA, "customers", "TABLE"], [SCHEMA, "orders", "TABLE"]]
    assert found["columns"] == [
        ["id", "int8", 19, 0, 0],
        ["customer", "int8", 19, 0, 1],
        ["region", "int4", 10, 0, 1],
        ["total", "numeric", 10, 2, 1],
        ["day", "date", 10, None, 1],
    ]


def test_catalog_functions_describe_keys(found: dict[str, Any]) -> None:
    assert found["primary keys"] == [["orders", "id", 1, "orders_pk"]]
    keys = [
        ["customers", "id", "orders", "customer", 1, "buyer"],
        ["customers", "region", "orders", "region", 2, "buyer"],
    ]
    assert sorted(found["foreign keys"]) == keys and sorted(found["referencing keys"]) == keys
    assert ["orders", 0, "id"] in found["statistics"]


def test_rows_have_types_and_parameters(found: dict[str, Any]) -> None:
    assert found["types"] == ["int", "int", "int", "Decimal", "date"]
    assert found["rows"] == [["1", "7", "1", "2.50", "2024-01-02"], ["2", "7", "1", "None", "None"]]
    assert found["parameters"] == [[1]] and found["inserted"] == 1


def test_error_has_its_sqlstate(found: dict[str, Any]) -> None:
    assert found["error"] == "42P01"
