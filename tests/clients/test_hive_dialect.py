"""PyHive's SQLAlchemy dialect, pandas over it, and further calls in Superset's Hive specification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas
import pytest
import sqlalchemy
from pyhive import hive
from sqlalchemy import Column, Engine, MetaData, Table, inspect, text, types

from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.slow]

SETTINGS = {"gateway.show_tables.hive_shape": "true"}
FRAME = pandas.DataFrame(
    {
        "i": [1, 2],
        "s": ["a", "o'b"],
        "at": pandas.to_datetime(["2024-01-01 00:00:00", "2024-01-02 03:04:05"]),
        "b": [True, False],
    }
)


@pytest.fixture(scope="module")
def dialect(server: RealServer) -> Iterator[Engine]:
    http = server.http()
    http.run("CREATE SCHEMA IF NOT EXISTS hive_lab")
    http.run("CREATE OR REPLACE TABLE hive_lab.t (i INT, p STRING) PARTITIONED BY (p)")
    http.run("CREATE OR REPLACE VIEW hive_lab.v AS SELECT i FROM hive_lab.t")
    engine = sqlalchemy.create_engine(
        f"hive://ada@127.0.0.1:{server.thrift_port}/hive_lab", connect_args={"configuration": SETTINGS}
    )
    yield engine
    engine.dispose()
    http.run("DROP SCHEMA hive_lab CASCADE")  # other tests list all schemas


def test_reflection(dialect: Engine) -> None:
    found = inspect(dialect)
    assert {"hive_lab", "shop"} <= set(found.get_schema_names())
    assert found.get_table_names() == ["t", "v"] == found.get_table_names(schema="hive_lab")
    assert found.has_table("t") and not found.has_table("nope") and not found.has_table("nope", schema="shop")
    columns = [(column["name"], type(column["type"]).__name__) for column in found.get_columns("t", schema="hive_lab")]
    assert columns == [("i", "Integer"), ("p", "String")]
    assert [index["column_names"] for index in found.get_indexes("t", schema="hive_lab")] == [["p"]]
    assert list(Table("v", MetaData(), autoload_with=dialect).columns.keys()) == ["i"]


def test_pandas_writes_and_reads(dialect: Engine) -> None:
    FRAME.to_sql("frame", dialect, if_exists="replace", index=False, method="multi")
    FRAME.to_sql("frame", dialect, if_exists="append", index=False)  # a statement a row, by executemany
    read = pandas.read_sql("SELECT * FROM frame ORDER BY i", dialect)
    assert read.to_dict("list") == {name: [each for each in values for _ in (0, 1)] for name, values in FRAME.items()}
    assert pandas.read_sql("frame", dialect).shape == (4, 4)


def test_tables_of_sqlalchemy(dialect: Engine) -> None:
    made = Table("made", MetaData(), Column("id", types.BigInteger), Column("s", types.String), Column("d", types.Date))
    made.drop(dialect, checkfirst=True)
    made.create(dialect)
    with dialect.begin() as connection:
        connection.execute(made.insert().values(id=1, s="1.5", d="2024-02-29"))
        assert list(connection.execute(made.select()).one())[:2] == [1, "1.5"]
        assert connection.execute(text("SELECT count(*) FROM made WHERE d = :d"), {"d": "2024-02-29"}).scalar() == 1


def test_superset_queries_with_hive_dialect(server: RealServer, dialect: Engine) -> None:
    """In its specification's order: names by the first column, a query with polls and logs, its estimate."""
    cursor = hive.connect("127.0.0.1", server.thrift_port, database="hive_lab", configuration=SETTINGS).cursor()

    def first_column(statement: str) -> list[Any]:
        cursor.execute(statement)
        return [row[0] for row in cursor.fetchall()]

    assert "hive_lab" in first_column("SHOW SCHEMAS")
    assert first_column("SHOW VIEWS IN `hive_lab`") == ["v"]
    assert "t" in first_column("SHOW TABLES IN `hive_lab`")
    assert first_column("SHOW PARTITIONS hive_lab.t") == []
    assert "abs" in first_column("SHOW FUNCTIONS")
    assert first_column("SET") and first_column("EXPLAIN SELECT i FROM t LIMIT 101")
    cursor.execute("SELECT i FROM t LIMIT 101", async_=True)
    while cursor.poll().operationState in (0, 1):
        cursor.fetch_logs()
    assert cursor.fetchall() == []
