"""Transaction blocks over PostgreSQL's protocol, with psycopg, which opens one before each statement."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import closing, suppress

import psycopg
import psycopg2
import pytest

from tests.clients.fix_server import RealServer

Rows = list[tuple[object, ...]]


def connect(server: RealServer, *, autocommit: bool = False) -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1", port=server.postgres_port, user="ann", dbname="postgres", autocommit=autocommit
    )


@pytest.fixture
def other(server: RealServer) -> Iterator[psycopg.Connection]:
    with connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def client(server: RealServer, other: psycopg.Connection) -> Iterator[psycopg.Connection]:
    for name in ("blocks", "blocks_other"):
        other.execute(f"DROP TABLE IF EXISTS {name}")
        other.execute(f"CREATE TABLE {name} (id INT, s STRING)")
    other.execute("INSERT INTO blocks VALUES (1, 'a'), (2, 'b')")
    with connect(server) as connection:
        yield connection
        connection.rollback()


def rows(connection: psycopg.Connection, text: str = "SELECT * FROM blocks ORDER BY id, s") -> Rows:
    return connection.execute(text).fetchall()


pytestmark = pytest.mark.slow  # make test has the blocks of the engine, and some of each client

CHANGES = [
    ("UPDATE blocks SET s = 'x' WHERE id = 1", 1, [(1, "x"), (2, "b")]),
    ("DELETE FROM blocks WHERE id = 1", 1, [(2, "b")]),
    ("INSERT INTO blocks SELECT id + 2, 'c' FROM blocks_other", 0, [(1, "a"), (2, "b")]),
    ("WITH c AS (SELECT 3 AS id) INSERT INTO blocks SELECT id, 'c' FROM c", 1, [(1, "a"), (2, "b"), (3, "c")]),
    ("INSERT INTO blocks SELECT 3, 'c'", 1, [(1, "a"), (2, "b"), (3, "c")]),
    ("INSERT INTO blocks VALUES (3, 'c')", 1, [(1, "a"), (2, "b"), (3, "c")]),
    ("MERGE INTO blocks USING (SELECT 2 id) x ON blocks.id = x.id WHEN MATCHED THEN DELETE", 1, [(1, "a")]),
]


@pytest.mark.parametrize(("text", "count", "after"), CHANGES)
@pytest.mark.parametrize("commits", [True, False])
def test_change_is_visible_after_commit_alone(
    client: psycopg.Connection, other: psycopg.Connection, text: str, count: int, after: Rows, commits: bool
) -> None:
    before = rows(other)
    assert client.execute(text).rowcount == count
    assert rows(other) == before
    if commits:
        client.commit()
        assert rows(other) == after
    else:
        client.rollback()
        assert rows(other) == before
    assert rows(client) == rows(other)  # the connection goes on


def test_inserts_with_any_columns_are_one_commit(client: psycopg.Connection, other: psycopg.Connection) -> None:
    versions = len(rows(other, "DESCRIBE HISTORY blocks"))
    with client.cursor() as cursor:
        cursor.execute("INSERT INTO blocks VALUES (3, 'c')")
        cursor.executemany("INSERT INTO blocks (s, id) VALUES (%s, %s)", [("d", 4), ("e", 5)])
        cursor.execute("INSERT INTO blocks (id) SELECT 6")
        with cursor.copy("COPY blocks (id, s) FROM STDIN") as copy:
            copy.write_row((7, "g"))
        cursor.execute("INSERT INTO blocks VALUES (8, NULL)")
    client.commit()
    expected = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e"), (6, None), (7, "g"), (8, None)]
    assert rows(other) == expected
    assert len(rows(other, "DESCRIBE HISTORY blocks")) == versions + 1


@pytest.mark.parametrize("first", ["INSERT INTO blocks VALUES (3, 'c')", "UPDATE blocks SET s = 'x'"])
@pytest.mark.parametrize(
    "second",
    [
        "SELECT * FROM blocks",
        "INSERT INTO blocks_other VALUES (1, 'a')",
        "UPDATE blocks SET s = 'y'",
        "OPTIMIZE blocks",
    ],
)
def test_statement_beyond_one_commit_is_rejected(
    client: psycopg.Connection, other: psycopg.Connection, first: str, second: str
) -> None:
    before = rows(other)
    client.execute(first)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="autocommit"):
        client.execute(second)
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        client.execute("SELECT 1")
    client.rollback()
    assert rows(other) == before


def test_queries_see_one_version(client: psycopg.Connection, other: psycopg.Connection) -> None:
    assert rows(client) == [(1, "a"), (2, "b")]
    other.execute("INSERT INTO blocks VALUES (3, 'c')")
    assert rows(client) == [(1, "a"), (2, "b")]
    client.commit()
    assert rows(client) == [(1, "a"), (2, "b"), (3, "c")]


def test_conflict_is_a_serialization_failure_at_commit(client: psycopg.Connection, other: psycopg.Connection) -> None:
    client.execute("UPDATE blocks SET s = 'x' WHERE id = 1")
    other.execute("UPDATE blocks SET s = 'y' WHERE id = 1")
    with pytest.raises(psycopg.errors.SerializationFailure):
        client.commit()
    assert rows(client) == [(1, "y"), (2, "b")]


def test_savepoint_drops_what_followed_it(client: psycopg.Connection, other: psycopg.Connection) -> None:
    client.execute("SELECT 1")
    with pytest.raises(ValueError, match="undone"), client.transaction():
        client.execute("UPDATE blocks SET s = 'x'")
        raise ValueError("undone")
    with client.transaction():
        client.execute("INSERT INTO blocks VALUES (3, 'c')")
    with pytest.raises(psycopg.Error), client.transaction():
        client.execute("INSERT INTO blocks VALUES (4, 'd')")
        client.execute("SELECT * FROM nowhere")
    client.commit()
    assert rows(other) == [(1, "a"), (2, "b"), (3, "c")]


def test_savepoint_has_the_rows_before_it(client: psycopg.Connection, other: psycopg.Connection) -> None:
    """Staged rows are written before the next statement, which is in the savepoint."""
    client.execute("INSERT INTO blocks VALUES (3, 'c')")
    for text in ("UPDATE blocks SET s = 'x'", "INSERT INTO blocks_other VALUES (1, 'a')", "SELECT * FROM blocks"):
        with pytest.raises(psycopg.errors.FeatureNotSupported), client.transaction():
            client.execute(text)
    with pytest.raises(ValueError, match="undone"), client.transaction():
        client.execute("INSERT INTO blocks SELECT 4, 'd'")
        raise ValueError("undone")
    client.execute("INSERT INTO blocks VALUES (5, 'e')")
    client.commit()
    assert rows(other) == [(1, "a"), (2, "b"), (3, "c"), (5, "e")]


def test_savepoint_within_a_change_is_rejected(client: psycopg.Connection, other: psycopg.Connection) -> None:
    client.execute("INSERT INTO blocks SELECT 3, 'c'")
    client.execute("SAVEPOINT a")
    client.execute("INSERT INTO blocks SELECT 4, 'd'")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        client.execute("ROLLBACK TO SAVEPOINT a")
    client.rollback()
    assert rows(other) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("text", ["CREATE TABLE blocks_made (id INT)", "CREATE VIEW blocks_made AS SELECT 1 AS id"])
def test_definition_is_there_after_commit_alone(
    client: psycopg.Connection, other: psycopg.Connection, text: str
) -> None:
    kind = text.split()[1]
    client.execute(text)
    with pytest.raises(psycopg.errors.UndefinedTable):
        rows(other, "SELECT * FROM blocks_made")
    client.commit()
    rows(other, "SELECT * FROM blocks_made")
    client.execute(f"DROP {kind} blocks_made")
    client.rollback()
    rows(other, "SELECT * FROM blocks_made")
    other.execute(f"DROP {kind} blocks_made")


def test_vanished_client_leaves_nothing(
    server: RealServer, client: psycopg.Connection, other: psycopg.Connection
) -> None:
    left = connect(server)
    left.execute("UPDATE blocks SET s = 'x'")
    left.pgconn.finish()
    other.execute("UPDATE blocks SET s = 'y' WHERE id = 1")
    assert rows(other) == [(1, "y"), (2, "b")]


def test_client_that_sends_nothing_ends_the_block(
    server: RealServer, client: psycopg.Connection, other: psycopg.Connection
) -> None:
    left = connect(server)
    left.execute("SET idle_in_transaction_session_timeout = '300ms'")
    left.commit()
    left.execute("UPDATE blocks SET s = 'x'")
    assert select.select([left.pgconn.socket], [], [], 30)[0]
    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        left.execute("SELECT 1")
    assert rows(other) == [(1, "a"), (2, "b")]


def test_statements_of_a_query_are_one_commit(client: psycopg.Connection, other: psycopg.Connection) -> None:
    before = len(rows(other, "DESCRIBE HISTORY blocks"))
    other.execute("INSERT INTO blocks VALUES (3, 'c'); INSERT INTO blocks VALUES (4, 'd')")
    assert (
        rows(other) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
        and len(rows(other, "DESCRIBE HISTORY blocks")) == before + 1
    )


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ("SELECT nothing", "42703"),
        ("INSERT INTO blocks VALUES ('x', 'y')", "22018"),
        ("UPDATE blocks SET s = 'z'", "0A000"),
        ("CREATE TABLE blocks_new (id INT)", "0A000"),
    ],
)
def test_query_with_an_error_changes_nothing(
    server: RealServer, client: psycopg.Connection, other: psycopg.Connection, last: str, state: str
) -> None:
    address = {"host": "127.0.0.1", "port": server.postgres_port, "user": "ann", "dbname": "postgres"}
    with pytest.raises(psycopg2.Error) as caught, closing(psycopg2.connect(**address)) as left:
        left.autocommit = True
        left.cursor().execute(f"INSERT INTO blocks VALUES (3, 'c');\n{last}; SELECT 1")
    assert caught.value.pgcode == state
    if state == "0A000":
        assert last in str(caught.value) and "one by one" in str(caught.value) and "LINE 2:" in str(caught.value)
    assert rows(other) == [(1, "a"), (2, "b")]


def test_begin_and_commit_divide_a_query(client: psycopg.Connection, other: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn):
        other.execute("INSERT INTO blocks VALUES (3, 'c'); COMMIT; INSERT INTO blocks VALUES (4, 'd'); SELECT nothing")
    assert rows(other) == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("text", ["WITH q AS (SELECT 3, 'c') INSERT INTO blocks SELECT * FROM q", "DELETE FROM blocks"])
def test_read_only_transaction_changes_nothing(
    client: psycopg.Connection, other: psycopg.Connection, text: str
) -> None:
    client.read_only = True
    client.execute("SELECT 1")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        client.execute(text)
    client.rollback()
    assert rows(other) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("ends", ["vanishes", "cancels", "rolls back"])
def test_copy_without_its_end_leaves_nothing(
    server: RealServer, client: psycopg.Connection, other: psycopg.Connection, ends: str
) -> None:
    left = connect(server)
    with suppress(psycopg.Error), left.cursor().copy("COPY blocks FROM STDIN") as copy:
        for _ in range(12):  # more than is read at once
            copy.write(b"3\tccc\n" * 150_000)
        if ends == "vanishes":
            left.pgconn.finish()
        elif ends == "cancels":
            raise psycopg.DataError("enough")
    if ends != "vanishes":
        left.rollback()
        left.close()
    assert rows(other) == [(1, "a"), (2, "b")]


def test_execute_takes_expressions(client: psycopg.Connection, other: psycopg.Connection) -> None:
    other.execute("PREPARE sum_of (int, int) AS SELECT $1 + $2")
    assert other.execute("EXECUTE sum_of (1 + 1, length('abc'))").fetchone() == (5,)
    with pytest.raises(psycopg.errors.UndefinedColumn, match="LINE 1: EXECUTE sum_of"):
        other.execute("EXECUTE sum_of (nothing, 1)")
