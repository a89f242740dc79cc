"""PostgreSQL's dialect over its protocol, as drivers and SQLAlchemy's inspector use it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import errors

from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow]

DATABASE = "postgres:postgres"


@pytest.fixture
def client(server: RealServer) -> Iterator[psycopg.Connection]:
    address = f"host=127.0.0.1 port={server.postgres_port} user=ann dbname={DATABASE}"
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def test_backslash_is_a_character_in_every_statement(client: psycopg.Connection) -> None:
    assert client.info.parameter_status("standard_conforming_strings") == "on"
    client.execute("DROP TABLE IF EXISTS paths")
    client.execute(r"CREATE TABLE paths (id int, path text DEFAULT 'C:\')")
    client.execute(r"INSERT INTO paths VALUES (1, 'C:\new'), (2, E'C:\\new'), (3, 'a\')")
    client.execute(r"INSERT INTO paths SELECT 4, 'C:\new'; INSERT INTO paths VALUES (5, '\'); SELECT 1")
    client.execute(r"UPDATE paths SET path = path || '\t' WHERE id = 3")
    returned = client.execute(r"INSERT INTO paths VALUES (6, 'RETURNING \') RETURNING path").fetchall()
    assert returned == [("RETURNING \\",)]
    found = {row[0]: row[1] for row in client.execute("SELECT id, path FROM paths").fetchall()}
    assert found == {1: "C:\\new", 2: "C:\\new", 3: "a\\\\t", 4: "C:\\new", 5: "\\", 6: "RETURNING \\"}
    assert client.execute(r"SELECT count(*) FROM paths WHERE path = 'C:\new'").fetchall() == [(3,)]
    bound = psycopg.ClientCursor(client)
    bound.execute("SELECT %s, id FROM paths WHERE path = %s AND id = 1", ("\\n'", "C:\\new"))
    assert bound.fetchall() == [("\\n'", 1)]


def test_mode_of_strings_is_the_dialects(client: psycopg.Connection, server: RealServer) -> None:
    client.execute("SET standard_conforming_strings = on")
    with pytest.raises(errors.InvalidParameterValue):
        client.execute("SET standard_conforming_strings = off")
    options = f"host=127.0.0.1 port={server.postgres_port} user=ann dbname=postgres"
    with psycopg.connect(options, autocommit=True) as other:
        assert other.info.parameter_status("standard_conforming_strings") == "off"
        assert other.execute(r"SELECT 'a\\b'").fetchall() == [("a\\b",)]


def test_inspector_finds_checks_identities_and_generated_columns(
    server: RealServer, client: psycopg.Connection
) -> None:
    client.execute("DROP TABLE IF EXISTS reflected")
    client.execute(
        "CREATE TABLE reflected (b int NOT NULL, a bigint GENERATED ALWAYS AS IDENTITY (START WITH 3 INCREMENT BY 2), "
        "twice int GENERATED ALWAYS AS (b * 2) STORED, f float, t timestamp, PRIMARY KEY (b, a))"
    )
    client.execute("ALTER TABLE reflected ADD CONSTRAINT positive CHECK (b > 0 AND b < 100)")
    engine = sa.create_engine(f"postgresql+psycopg://ann:x@127.0.0.1:{server.postgres_port}/{DATABASE}")
    inspector = sa.inspect(engine)
    (check,) = inspector.get_check_constraints("reflected")
    assert (check["name"], check["sqltext"]) == ("positive", "b > 0 AND b < 100")
    assert inspector.get_pk_constraint("reflected")["constrained_columns"] == ["b", "a"]
    columns = {column["name"]: column for column in inspector.get_columns("reflected")}
    identity = columns["a"]["identity"]
    assert (identity["always"], identity["start"], identity["increment"]) == (True, 3, 2)
    assert columns["twice"]["computed"] == {"sqltext": "b * 2", "persisted": True}
    assert isinstance(columns["f"]["type"], sa.DOUBLE_PRECISION)
    assert isinstance(columns["t"]["type"], sa.TIMESTAMP) and not columns["t"]["type"].timezone
    engine.dispose()


def test_json_is_read_by_keys_of_sqlalchemy(server: RealServer, client: psycopg.Connection) -> None:
    client.execute("DROP TABLE IF EXISTS documents")
    client.execute("CREATE TABLE documents (id int, data json)")
    client.execute("""INSERT INTO documents VALUES (1, '{"a.b": {"x": [1, "two"]}, "n": 5}'), (2, '{}')""")
    engine = sa.create_engine(f"postgresql+psycopg://ann:x@127.0.0.1:{server.postgres_port}/{DATABASE}")
    data = sa.column("data", sa.JSON)
    query = sa.select(data["n"].as_integer(), data[("a.b", "x", 1)].as_string()).select_from(sa.text("documents"))
    with engine.connect() as connection:
        assert connection.execute(query.order_by(sa.text("id"))).fetchall() == [(5, "two"), (None, None)]
        assert connection.execute(query.where(data["n"].as_integer() > 4)).fetchall() == [(5, "two")]
    engine.dispose()


@pytest.mark.parametrize("is_binary", [False, True])
def test_uuid_has_its_type_in_results(client: psycopg.Connection, is_binary: bool) -> None:
    value = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    text = "SELECT '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid, NULL::uuid, %s::uuid, gen_random_uuid()"
    cursor = client.cursor(binary=is_binary).execute(text, (value,))
    assert [column.type_code for column in cursor.description or ()] == [2950] * 4
    (row,) = cursor.fetchall()
    assert row[:3] == (value, None, value) and isinstance(row[3], uuid.UUID)


@pytest.mark.parametrize("is_binary", [False, True])
def test_json_has_its_type_in_results(client: psycopg.Connection, is_binary: bool) -> None:
    text = """SELECT '{"a": [1]}'::json AS a, '[1,2]'::jsonb AS b, '{"c": {"d": null}}'::jsonb -> 'c', %s::jsonb, 'x'"""
    cursor = client.cursor(binary=is_binary).execute(text, ("3",))
    assert [column.type_code for column in cursor.description or ()] == [114, 3802, 3802, 3802, 25]
    assert cursor.fetchall() == [({"a": [1]}, [1, 2], {"d": None}, 3, "x")]


def test_temporary_view_is_reflected(client: psycopg.Connection) -> None:
    privilege = "SELECT has_table_privilege('shortly', 'SELECT'), pg_table_is_visible('shortly'::regclass)"
    client.execute("CREATE TEMPORARY VIEW shortly AS SELECT 1 AS a, 'x' AS b")
    assert client.execute(privilege).fetchall() == [(True, True)]
    columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'shortly' ORDER BY 1"
    assert client.execute(columns).fetchall() == [("a", "integer"), ("b", "text")]
    client.execute("DROP VIEW shortly")
    with pytest.raises(errors.UndefinedTable):
        client.execute(privilege)
