"""A real server with users at which every front end listens.

ann is the administrator. bob may use the schema `s`, whose table `governed` has a row filter and a mask for him; he may
not read `s.secret`, and sees nothing of the schema `vault`. `s.twin` is a table like `governed` with other hidden rows.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.front_ends import Place
from tests.gateway.authenticators.users import make_users
from tests.server_process import ServerProcess

_GOVERNED = "(id INT, region STRING, email STRING)"
SETUP = (
    "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO ann",
    "CREATE SCHEMA s",
    "CREATE SCHEMA vault",
    "CREATE SCHEMA work",
    "CREATE TABLE vault.plans (id INT)",
    "CREATE TABLE s.open (id INT, region STRING)",
    "CREATE TABLE s.secret (id INT)",
    f"CREATE TABLE s.governed {_GOVERNED}",
    f"CREATE TABLE s.twin {_GOVERNED}",
    "INSERT INTO s.open VALUES (1, 'north'), (2, 'south')",
    "INSERT INTO s.secret VALUES (7)",
    "INSERT INTO s.governed VALUES (1, 'north', 'a@x'), (0, 'south', 'hidden')",
    "INSERT INTO s.twin VALUES (1, 'north', 'b@x'), (900000, 'south', 'concealed'), (-5, 'west', NULL)",
    "CREATE FUNCTION s.in_north(r STRING) RETURNS BOOLEAN RETURN r = 'north'",
    "CREATE FUNCTION s.masked(v STRING) RETURNS STRING RETURN '***'",
    *(
        text
        for table in ("governed", "twin")
        for text in (
            f"ALTER TABLE s.{table} SET ROW FILTER s.in_north ON (region)",
            f"ALTER TABLE s.{table} ALTER COLUMN email SET MASK s.masked",
            f"GRANT SELECT, MODIFY ON TABLE s.{table} TO bob",
        )
    ),
    "GRANT USE CATALOG ON CATALOG spark_catalog TO bob",
    "GRANT USE SCHEMA ON SCHEMA s TO bob",
    "GRANT SELECT ON TABLE s.open TO bob",
    "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA work TO bob",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO `zoë`",
)


@dataclass(frozen=True)
class Governed:
    place: Place
    audit: Path


@pytest.fixture(scope="session")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    folder = tmp_path_factory.mktemp("front_ends")
    process, place = start_front_ends(folder)
    try:
        with place.opened("statements", "ann") as ann:
            for text in SETUP:
                ann.rows(text)
        yield Governed(place, folder / "audit")
        process.popen.send_signal(signal.SIGTERM)
        assert process.end() == 0, process.output
        assert "internal error" not in process.output, process.output
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


def start_front_ends(folder: Path) -> tuple[ServerProcess, Place]:
    """Starts a server with users, whose files are in `folder`."""
    (folder / "lake").mkdir()
    (folder / "catalog").mkdir(mode=0o700)
    process = ServerProcess(
        folder,
        str(folder / "lake"),
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
        GATEWAY_AUTHENTICATION_METHODS='["password"]',
        GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(folder / "passwords")),
        GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
        GATEWAY_SERVER_CONNECT_PORT="0",
        GATEWAY_MCP_MODE="read_write",
        GATEWAY_MCP_ROWS_MAX="20000",
        GATEWAY_MCP_BYTES_MAX=str(4 << 20),
        GATEWAY_AUDIT_FOLDER=str(folder / "audit"),
    )
    ports = process.ports()
    return process, Place(thrift=ports["thrift"], http=ports["http"], connect=ports["connect"])
