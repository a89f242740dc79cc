"""Rights, row filters and column masks over PostgreSQL's protocol: each kind of statement that reads or writes rows."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.gateway.authenticators.users import make_users
from tests.security.test_spark_connect import SETUP
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

Connection = psycopg.Connection[Any]
FILTERED = [(1, "north", "***")]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Yields the port of a server at which bob is a user and ann the administrator."""
    folder = tmp_path_factory.mktemp("governed")
    (folder / "lake").mkdir()
    (folder / "catalog").mkdir(mode=0o700)
    process = ServerProcess(
        folder,
        str(folder / "lake"),
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
        GATEWAY_AUTHENTICATION_METHODS='["password"]',
        GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(folder / "passwords")),
        GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
        GATEWAY_SERVER_POSTGRES_PORT="0",
    )
    found = process.ports()["postgres"]
    with _connect(found, "ann", autocommit=True) as ann:
        for text in SETUP:
            ann.execute(text.encode())
    yield found
    process.popen.send_signal(signal.SIGTERM)
    process.end()


def _connect(port: int, user: str, **settings: Any) -> Connection:
    return psycopg.connect(
        host="127.0.0.1", port=port, user=user, password=user * 2, dbname="postgres", connect_timeout=60, **settings
    )


@pytest.fixture
def bob(port: int) -> Iterator[Connection]:
    with _connect(port, "bob", autocommit=True) as connection:
        yield connection


def _copied(connection: Connection, table: str) -> list[Any]:
    with connection.cursor().copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT binary)".encode()) as copy:
        copy.set_types(["int4", "text", "text"] if table != "s.secret" else ["int4"])
        return list(copy.rows())


def _by_cursor(connection: Connection, table: str) -> list[Any]:
    connection.execute(f"DECLARE c CURSOR WITH HOLD FOR SELECT * FROM {table}".encode())
    rows = connection.execute("FETCH ALL FROM c").fetchall()
    connection.execute("CLOSE c")
    return rows


def _in_block(connection: Connection, table: str) -> list[Any]:
    with connection.transaction():
        return connection.execute(f"SELECT * FROM {table}".encode()).fetchall()


def _prepared(connection: Connection, table: str) -> list[Any]:
    return connection.execute(f"SELECT * FROM {table} WHERE id > %s".encode(), (0,), prepare=True).fetchall()


READS: dict[str, Callable[[Connection, str], list[Any]]] = {
    "simple query": lambda one, table: one.execute(f"SELECT * FROM {table}".encode()).fetchall(),
    "prepared statement": _prepared,
    "binary result": lambda one, table: one.execute(f"SELECT * FROM {table}".encode(), binary=True).fetchall(),
    "COPY": _copied,
    "cursor": _by_cursor,
    "block": _in_block,
}


@pytest.mark.parametrize("name", READS)
def test_read_is_filtered_masked_and_denied(bob: Connection, name: str) -> None:
    assert READS[name](bob, "s.governed") == FILTERED
    with pytest.raises(psycopg.errors.UndefinedTable):  # it is not visible
        READS[name](bob, "s.secret")
    assert READS[name](bob, "s.governed") == FILTERED


def _copy_in(connection: Connection) -> None:
    with connection.cursor().copy("COPY s.open FROM STDIN") as copy:
        copy.write("9\tx\n")


def _insert_in_block(connection: Connection) -> None:
    with connection.transaction():
        connection.cursor().executemany("INSERT INTO s.open VALUES (%s, %s)", [(8, "x"), (9, "y")])


WRITES: dict[str, Callable[[Connection], Any]] = {
    "INSERT": lambda one: one.execute("INSERT INTO s.open VALUES (9, 'x')"),
    "bound INSERT": lambda one: one.execute("INSERT INTO s.open VALUES (%s, %s)", (9, "x")),
    "executemany": lambda one: one.cursor().executemany("INSERT INTO s.open VALUES (%s, %s)", [(8, "x"), (9, "y")]),
    "block": _insert_in_block,
    "COPY": _copy_in,
    "DELETE": lambda one: one.execute("DELETE FROM s.open"),
}


@pytest.mark.parametrize("name", WRITES)
def test_write_without_the_privilege_is_denied(bob: Connection, name: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        WRITES[name](bob)
    assert bob.execute("SELECT count(*) FROM s.open").fetchone() == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "SET SESSION AUTHORIZATION ann",
        "SET ROLE ann",
        "SELECT set_config('session_authorization', 'ann', false)",
        "SET is_superuser = on",
    ],
)
def test_user_of_a_session_stays(bob: Connection, text: str) -> None:
    with pytest.raises(psycopg.Error):
        bob.execute(text.encode())
    assert bob.execute("SELECT current_user()").fetchone() == ("bob",)


def test_statement_is_described_with_the_same_rights(bob: Connection) -> None:
    bob.pgconn.prepare(b"denied", b"SELECT * FROM s.secret")
    found = bob.pgconn.describe_prepared(b"denied")
    assert found.error_field(67) == b"42P01"


def test_statement_of_another_user_cannot_be_cancelled_without_its_key(port: int, bob: Connection) -> None:
    with _connect(port, "ann", autocommit=True) as ann:
        assert bob.info.backend_pid != ann.info.backend_pid
        bob.cancel_safe()
        assert ann.execute("SELECT 1").fetchone() == (1,)
