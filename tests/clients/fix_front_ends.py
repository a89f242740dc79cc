"""A real server with users at which every front end listens: ann is the administrator, bob and zoë are users."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.front_ends import Place
from tests.gateway.authenticators.users import make_users
from tests.server_process import ServerProcess

SETUP = (
    "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO ann",
    "CREATE SCHEMA s",
    "CREATE SCHEMA work",
    "CREATE TABLE s.open (id INT, region STRING)",
    "INSERT INTO s.open VALUES (1, 'north'), (2, 'south')",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO bob",
    "GRANT USE SCHEMA, SELECT ON SCHEMA s TO bob",
    "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA work TO bob",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO `zoë`",
    "CREATE SCHEMA rules",
    "CREATE FUNCTION rules.in_north(r STRING) RETURNS BOOLEAN RETURN r = 'north'",
    "CREATE FUNCTION rules.masked(v STRING) RETURNS STRING RETURN '***'",
    "CREATE TABLE s.protected (id INT, region STRING, email STRING)",
    "INSERT INTO s.protected VALUES (1, 'north', 'a@x'), (2, 'south', 'b@x')",
    "ALTER TABLE s.protected SET ROW FILTER rules.in_north ON (region)",
    "ALTER TABLE s.protected ALTER COLUMN email SET MASK rules.masked",
    "CREATE SCHEMA hidden",
    "CREATE TABLE hidden.table_a (id INT)",
    "INSERT INTO hidden.table_a VALUES (7)",
    "CREATE SCHEMA half",
    "CREATE TABLE half.table_a (id INT)",
    "CREATE TABLE half.visible (id INT)",
    "GRANT USE SCHEMA ON SCHEMA half TO bob",
    "GRANT SELECT ON TABLE half.visible TO bob",
)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with open_place(tmp_path_factory.mktemp("front_ends")) as (process, found):
        yield found
        process.popen.send_signal(signal.SIGTERM)
        assert process.end() == 0, process.output
        assert "internal error" not in process.output, process.output


@contextmanager
def open_place(folder: Path) -> Iterator[tuple[ServerProcess, Place]]:
    """Yields a server with the objects of the tests, and where it listens."""
    process, found = _start(folder)
    try:
        with found.opened("statements", "ann") as ann:
            for text in SETUP:
                ann.rows(text)
        yield process, found
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


def _start(folder: Path) -> tuple[ServerProcess, Place]:
    """Starts a server with users, whose files are in `folder`."""
    (folder / "lake").mkdir()
    (folder / "catalog").mkdir(mode=0o700)
    (folder / "audit").mkdir(mode=0o700)
    process = ServerProcess(
        folder,
        str(folder / "lake"),
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
        GATEWAY_AUTHENTICATION_METHODS='["password", "token"]',
        GATEWAY_AUDIT_FOLDER=str(folder / "audit"),
        GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(folder / "passwords")),
        GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
        GATEWAY_SERVER_CONNECT_PORT="0",
        GATEWAY_SERVER_POSTGRES_PORT="0",
        GATEWAY_SERVER_FLIGHT_PORT="0",
        GATEWAY_MCP_MODE="read_write",
        GATEWAY_MCP_ROWS_MAX="20000",
        GATEWAY_MCP_BYTES_MAX=str(4 << 20),
    )
    ports = process.ports()
    return process, Place(**ports)
