"""PostgreSQL's clients and a real server: psql, psycopg 2 and 3, asyncpg, SQLAlchemy, pgjdbc, node-postgres, pgx."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import asyncpg
import pandas as pd
import psycopg
import psycopg2
import pyarrow as pa
import pytest
import sqlalchemy as sa
from psycopg2.extras import execute_values
from py4j.java_gateway import JavaGateway

from tests.clients.drivers import JARS, read_result, start_jvm
from tests.clients.environments import NODE, go_program, node_packages
from tests.clients.fix_server import RealServer
from tests.maven import take_jar
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCHEMA = "pg"
TABLE = f"{SCHEMA}.people"
ROWS = [(1, "ann", Decimal("1.50"), dt.date(1990, 1, 2)), (2, "it's \\ bob", None, None)]
PGJDBC = "org.postgresql:postgresql:42.7.8"
PGJDBC_SHA256 = "2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7"


def _psycopg(server: RealServer, **settings: Any) -> psycopg.Connection[Any]:
    certificate = str(server.certificate.certificate)
    address: dict[str, Any] = {"host": "localhost", "port": server.postgres_port, "user": "ada", "dbname": "postgres"}
    return psycopg.connect(**address, sslmode="verify-full", sslrootcert=certificate, **settings)


@pytest.fixture(scope="module")
def place(server: RealServer) -> Iterator[RealServer]:
    with _psycopg(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(f"CREATE TABLE {TABLE} (id INT, name STRING, price DECIMAL(10,2), born DATE)")
        connection.cursor().executemany(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s)", ROWS)
        yield server
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def _versions(connection: psycopg.Connection[Any], table: str) -> int:
    return len(connection.execute(f"DESCRIBE HISTORY {table}").fetchall())


@pytest.mark.psql
def test_psql_shows_rows_and_errors(place: RealServer) -> None:
    url = f"postgresql://ada@localhost:{place.postgres_port}/postgres?sslmode=require"

    def run(*commands: str) -> subprocess.CompletedProcess[str]:
        arguments = [part for command in commands for part in ("-c", command)]
        return subprocess.run(["psql", url, "-X", "-A", "-t", *arguments], capture_output=True, text=True, timeout=120)

    assert run(f"SELECT * FROM {TABLE} ORDER BY id").stdout == "1|ann|1.50|1990-01-02\n2|it's \\ bob||\n"
    failed = run("SELECT id,\n  nothing FROM pg.people")
    assert "UNRESOLVED_COLUMN.WITH_SUGGESTION" in failed.stderr and "LINE 2:   nothing FROM pg.people" in failed.stderr
    assert run("BEGIN", "SELECT count(*) FROM pg.people", "COMMIT").stdout.split() == ["BEGIN", "2", "COMMIT"]
    copied = run(f"\\copy (SELECT id, name FROM {TABLE} ORDER BY id) TO STDOUT WITH CSV HEADER")
    assert copied.stdout == "id,name\n1,ann\n2,it's \\ bob\n"


@pytest.mark.pgbench
@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_pgbench_runs_without_failed_transactions(place: RealServer, tmp_path: Path, protocol: str) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        f"\\set number random(1, 9)\nSELECT name FROM {TABLE} WHERE id = :number;\n"
        f"BEGIN;\nINSERT INTO {SCHEMA}.bench (id, protocol) VALUES (:number, '{protocol}');\nEND;\n"
    )
    with _psycopg(place, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {SCHEMA}.bench (id INT, protocol STRING)")
        url = f"postgresql://ada@localhost:{place.postgres_port}/postgres?sslmode=require"
        arguments = ["-n", "-f", str(script), "-M", protocol, "-c", "2", "-t", "5"]
        done = subprocess.run(["pgbench", *arguments, url], capture_output=True, text=True, timeout=240)
        assert "transactions actually processed: 10/10" in done.stdout, done.stderr
        found = connection.execute(f"SELECT count(*) FROM {SCHEMA}.bench WHERE protocol = %s", (protocol,)).fetchone()
        assert found == (10,)


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_values_in_both_formats(place: RealServer, binary: bool) -> None:
    with _psycopg(place, autocommit=True) as connection:
        cursor = connection.cursor(binary=binary)
        assert cursor.execute(f"SELECT * FROM {TABLE} ORDER BY id").fetchall() == ROWS
        values = "array(1, NULL), named_struct('a', 1), x'00ff', 1e300D, INTERVAL '1 02:03:04' DAY TO SECOND"
        found = cursor.execute(f"SELECT {values}, TIMESTAMP'2024-01-01 00:00:00.5'").fetchone()
        assert found is not None
        instant = dt.datetime(2024, 1, 1, 0, 0, 0, 500_000, tzinfo=found[-1].tzinfo)
        assert found[:-1] == ([1, None], {"a": 1}, b"\x00\xff", 1e300, dt.timedelta(1, 7384)) and found[-1] == instant


@pytest.mark.parametrize("placeholder", ["%s", "%b"])
def test_psycopg_binds_values_of_each_type(place: RealServer, placeholder: str) -> None:
    values = (7, "é", Decimal("1.25"), dt.date(2024, 2, 29), b"\x00\xff", True, [1, None], dt.datetime(2024, 1, 1), 2.5)
    with _psycopg(place, autocommit=True) as connection:
        for _ in range(7):  # from the fifth execution on it is a named statement
            found = connection.execute(f"SELECT {', '.join([placeholder] * len(values))}", values).fetchone()
            assert found == values
        limited = connection.execute(f"SELECT id FROM {TABLE} WHERE id > %s ORDER BY id LIMIT %s", (0, 1)).fetchall()
        assert limited == [(1,)]


def test_rows_of_one_block_are_one_commit(place: RealServer) -> None:
    with _psycopg(place) as connection:
        connection.autocommit = True
        connection.execute(f"CREATE TABLE {SCHEMA}.many (id INT, name STRING)")
        connection.autocommit = False
        rows = [(number, f"row {number}") for number in range(10_000)]
        connection.cursor().executemany(f"INSERT INTO {SCHEMA}.many VALUES (%s, %s)", rows)
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot read it"):
            connection.execute(f"SELECT * FROM {SCHEMA}.many")
        connection.rollback()
        assert connection.execute(f"SELECT count(*) FROM {SCHEMA}.many").fetchone() == (0,)
        connection.rollback()
        connection.cursor().executemany(f"INSERT INTO {SCHEMA}.many VALUES (%s, %s)", rows)
        connection.commit()
        assert connection.execute(f"SELECT count(*), max(name) FROM {SCHEMA}.many").fetchone() == (10_000, "row 9999")
        assert _versions(connection, f"{SCHEMA}.many") == 2


def test_block_rejects_other_writes(place: RealServer) -> None:
    with _psycopg(place) as connection:
        connection.execute(f"INSERT INTO {TABLE} VALUES (9, 'x', NULL, NULL)")
        for text in (
            f"DELETE FROM {TABLE}",
            "INSERT INTO pg.many VALUES (1, 'x')",
            f"CREATE TABLE {SCHEMA}.x (id INT)",
        ):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="autocommit"), connection.transaction():
                connection.execute(text)
        connection.rollback()


def test_block_reads_one_version_of_a_table(place: RealServer) -> None:
    with _psycopg(place) as reader, _psycopg(place, autocommit=True) as writer:
        count = reader.execute(f"SELECT count(*) FROM {TABLE}").fetchone()
        writer.execute(f"INSERT INTO {TABLE} VALUES (3, 'later', NULL, NULL)")
        assert reader.execute(f"SELECT count(*) FROM {TABLE}").fetchone() == count
        reader.commit()
        assert reader.execute(f"SELECT count(*) FROM {TABLE}").fetchone() == (3,)
        writer.execute(f"DELETE FROM {TABLE} WHERE id = 3")


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_writes_and_reads_rows(place: RealServer, form: str) -> None:
    name = f"{SCHEMA}.copied_{form}"
    rows = [(1, 'a\t"b\\\n', Decimal("1.50"), dt.date(2024, 1, 1)), (2, "", None, None), (3, None, None, None)]
    with _psycopg(place, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (id INT, name STRING, price DECIMAL(10,2), born DATE)")
        cursor = connection.cursor()
        with cursor.copy(f"COPY {name} FROM STDIN (FORMAT {form})") as copy:
            if form == "csv":
                copy.write('1,"a\t""b\\\n",1.50,2024-01-01\n2,"",,\n3,,,\n')
            else:
                copy.set_types(["int4", "text", "numeric", "date"])
                for row in rows:
                    copy.write_row(row)
        assert cursor.statusmessage == "COPY 3"
        assert connection.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() == rows
        assert _versions(connection, name) == 2
        with cursor.copy(f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT (FORMAT {form})") as copy:
            if form == "csv":
                assert b"".join(map(bytes, copy)).startswith(b'1,"a\t""b\\\n",1.50,2024-01-01\n2,')
            else:
                copy.set_types(["int4", "text", "numeric", "date"])
                assert list(copy.rows()) == rows


def test_server_side_cursors_fetch_in_parts(place: RealServer) -> None:
    with _psycopg(place) as connection, connection.cursor(name="c", scrollable=True) as cursor:
        cursor.itersize = 1000
        cursor.execute("SELECT id FROM range(0, 2500, 1, 1) ORDER BY id")
        assert [row[0] for row in cursor] == list(range(2500))
        cursor.scroll(10, mode="absolute")
        assert cursor.fetchmany(2) == [(10,), (11,)]


def test_psycopg2_writes_and_reads(place: RealServer) -> None:
    connection = psycopg2.connect(host="localhost", port=place.postgres_port, user="ada", dbname="postgres")
    cursor = connection.cursor()
    values = (7, "it's \\ é", Decimal("1.25"), dt.date(2024, 2, 29), [1, 2], dt.datetime(2024, 1, 1))
    cursor.execute("SELECT %s, %s, %s, %s, %s, %s, %s", (*values, psycopg2.Binary(b"\x00\xff")))
    found = cursor.fetchone()
    assert found is not None and found[:6] == values and bytes(found[6]) == b"\x00\xff"
    rows = [(number, f"it's {number}", None, dt.date(2024, 1, 1)) for number in range(10, 500)]
    cursor.executemany(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s)", rows)
    execute_values(cursor, f"INSERT INTO {TABLE} VALUES %s", [(501, "many", 1.5, None), (502, "more", None, None)])
    connection.commit()
    cursor.execute(f"SELECT count(*), max(name) FROM {TABLE} WHERE id >= 10")
    assert cursor.fetchone() == (492, "more")
    connection.rollback()
    connection.autocommit = True
    cursor.execute(f"DELETE FROM {TABLE} WHERE id >= 10")
    assert cursor.rowcount == 492
    connection.close()


def test_asyncpg_prepares_and_binds(place: RealServer) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(host="localhost", port=place.postgres_port, user="ada", database="postgres")
        row = await connection.fetchrow(
            f"SELECT * FROM {TABLE} WHERE id = $1 AND price > $2 AND born >= $3 LIMIT $4",
            *(1, Decimal("1.2"), dt.date(1990, 1, 1), 5),
        )
        assert tuple(row) == ROWS[0]
        await connection.executemany(
            f"INSERT INTO {TABLE} VALUES ($1, $2, $3, $4)", [(n, "a", None, dt.date(2024, 1, 1)) for n in range(20, 40)]
        )
        await connection.copy_records_to_table(
            "people", schema_name=SCHEMA, columns=["id", "name"], records=[(n, "c") for n in range(40, 50)]
        )
        assert await connection.fetchval(f"SELECT count(*) FROM {TABLE} WHERE id >= 20") == 30
        assert await connection.fetchval("SELECT array(1, 2)") == [1, 2]
        async with connection.transaction():
            found = [record["id"] async for record in connection.cursor("SELECT id FROM range(0, 120, 1, 1)")]
        assert sorted(found) == list(range(120))
        with pytest.raises(asyncpg.exceptions.UndefinedTableError):
            await connection.fetch("SELECT * FROM pg.nobody")
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch(
                "SELECT count(*) FROM range(90000000000) WHERE sha2(string(id), 512) = ''", timeout=1
            )
        await connection.execute(f"DELETE FROM {TABLE} WHERE id >= 20")
        await connection.reset()
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()

    asyncio.run(run())


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_selects_and_inserts(place: RealServer, driver: str) -> None:
    url = f"postgresql+{driver}://ada@localhost:{place.postgres_port}/postgres"
    engine = sa.create_engine(url, use_native_hstore=False)
    people = sa.Table(
        "people", sa.MetaData(schema=SCHEMA), *(sa.Column(n, t) for n, t in (("id", sa.Integer), ("name", sa.Text)))
    )
    with engine.connect() as connection:
        found = connection.execute(sa.select(people).where(people.c.id == 1)).all()
        assert found == [(1, "ann")]
        connection.execute(people.insert(), [{"id": n, "name": f"s{n}"} for n in range(60, 70)])
        connection.commit()
        assert connection.execute(sa.text(f"SELECT count(*) FROM {TABLE} WHERE id >= 60")).scalar() == 10
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        assert connection.execute(people.delete().where(people.c.id >= 60)).rowcount == 10
    engine.dispose()


@pytest.fixture(scope="module")
def jvm() -> Iterator[JavaGateway]:
    jar = take_jar(PGJDBC, ROOT / ".clients" / "postgresql-42.7.8.jar", PGJDBC_SHA256)
    janino = [
        str(found) for found in Path(JARS).parent.glob("*.jar") if found.name.startswith(("janino", "commons-compiler"))
    ]
    gateway = start_jvm(":".join((str(jar), *janino)))
    yield gateway
    gateway.shutdown()


def test_pgjdbc_reads_in_both_formats_and_writes_batches(place: RealServer, jvm: JavaGateway) -> None:
    properties = jvm.jvm.java.util.Properties()
    properties.setProperty("user", "ada")
    made = jvm.jvm.java.lang.Class.forName("org.postgresql.Driver").getDeclaredConstructor(
        jvm.new_array(jvm.jvm.java.lang.Class, 0)
    )
    driver = made.newInstance(jvm.new_array(jvm.jvm.java.lang.Object, 0))
    connection = driver.connect(f"jdbc:postgresql://localhost:{place.postgres_port}/postgres", properties)
    statement = connection.prepareStatement(f"SELECT id, name, price, born, 2.5D FROM {TABLE} WHERE id = ?")
    for _ in range(8):  # from the fifth execution on, in the binary format
        statement.setInt(1, 1)
        assert read_result(statement.executeQuery()) == [["1", "ann", "1.50", "1990-01-02", "2.5"]]
    batch = connection.prepareStatement(f"INSERT INTO {TABLE} (id, name) VALUES (?, ?)")
    for number in range(70, 80):
        batch.setInt(1, number)
        batch.setString(2, f"j{number}")
        batch.addBatch()
    assert sum(batch.executeBatch()) == 10
    assert connection.createStatement().executeUpdate(f"DELETE FROM {TABLE} WHERE id >= 70") == 10
    connection.setAutoCommit(False)
    fetched = connection.createStatement()
    fetched.setFetchSize(100)
    assert len(read_result(fetched.executeQuery("SELECT id FROM range(0, 450, 1, 1)"))) == 450
    connection.commit()
    connection.close()


def test_node_postgres_reads_binds_and_fails(place: RealServer) -> None:
    modules = node_packages("node-postgres", "pg@8.16.3")
    script = Path(__file__).with_name("node_postgres.js")
    done = subprocess.run(
        [str(NODE), str(script), str(place.postgres_port)],
        env=os.environ | {"NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    rows, bound, error = map(json.loads, done.stdout.splitlines())
    assert rows == [{"id": 1, "name": "ann", "price": "1.50"}]
    assert bound == [{"name": "ann"}] and error == "42P01"


@pytest.mark.go
@pytest.mark.slow
def test_pgx_reads_binds_and_copies(place: RealServer) -> None:
    program = go_program(Path(__file__).with_name("pgx_client.go"), "github.com/jackc/pgx/v5@v5.7.6")
    done = subprocess.run([str(program), str(place.postgres_port)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 ann", "ann", "3", "42P01"]


def test_tables_of_drivers_have_postgresqls_types(place: RealServer) -> None:
    engine = sa.create_engine(f"postgresql+psycopg://ada@localhost:{place.postgres_port}/postgres")
    frame = pd.DataFrame({"a": range(2_000), "b": ["x"] * 2_000})
    with pytest.raises(pd.errors.DatabaseError, match="autocommit"):  # it creates the table and inserts in one block
        frame.to_sql("of_pandas", engine, schema=SCHEMA, index=False)
    each = engine.execution_options(isolation_level="AUTOCOMMIT")
    frame.to_sql("of_pandas", each, schema=SCHEMA, index=False)
    with engine.begin() as connection:
        found = connection.execute(sa.text(f"SELECT count(*), sum(a), max(b) FROM {SCHEMA}.of_pandas")).one()
        assert tuple(found) == (2_000, 1_999_000, "x")
        assert len(connection.execute(sa.text(f"DESCRIBE HISTORY {SCHEMA}.of_pandas")).all()) == 2
    assert "of_pandas" in sa.inspect(engine).get_table_names(SCHEMA)
    uri = f"postgresql://ada@localhost:{place.postgres_port}/postgres"
    with adbc_driver_postgresql.dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        rows = pa.table({"x": pa.array([1, 2, 3]), "s": ["a", "b", None]})
        assert cursor.adbc_ingest("of_adbc", rows, mode="create", db_schema_name=SCHEMA) == 3
        cursor.execute(f"SELECT x, s FROM {SCHEMA}.of_adbc ORDER BY x")
        assert cursor.fetchall() == [(1, "a"), (2, "b"), (3, None)]
