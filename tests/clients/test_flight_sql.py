"""Arrow Flight SQL with ADBC's driver and with Arrow's JDBC driver, over TLS."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import adbc_driver_flightsql.dbapi
import adbc_driver_manager.dbapi as adbc
import pyarrow as pa
import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from tests.clients.drivers import column, java, read_result
from tests.clients.fix_server import RealServer
from tests.maven import take_jar
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.spark]
slow = pytest.mark.slow


@pytest.fixture(scope="module")
def connection(server: RealServer) -> Iterator[Any]:
    options = {
        "username": "ada",
        "password": "x",
        "adbc.flight.sql.client_option.tls_root_certs": server.certificate.certificate.read_text(),
    }
    location = f"grpc+tls://localhost:{server.flight_port}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = adbc_driver_flightsql.dbapi.connect(location, db_kwargs=options, autocommit=True)
    yield opened
    opened.close()


@pytest.fixture
def cursor(connection: Any) -> Iterator[Any]:
    with connection.cursor() as opened:
        yield opened


@pytest.fixture(scope="module")
def schema(connection: Any) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA flight_sql")
        yield "flight_sql"
        cursor.execute("DROP SCHEMA flight_sql CASCADE")


def rows(cursor: Any, text: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    cursor.execute(text, parameters)
    return list(cursor.fetchall()) if cursor.description else []


def test_adbc_reads_writes_and_ingests(cursor: Any, schema: str) -> None:
    rows(cursor, f"CREATE TABLE {schema}.t (id INT, name STRING)")
    cursor.execute(f"INSERT INTO {schema}.t VALUES (1, 'a'), (2, NULL)")
    assert cursor.rowcount == 2
    cursor.executemany(f"INSERT INTO {schema}.t VALUES (?, ?)", [(3, "c"), (4, "d")])
    assert cursor.rowcount == 2
    assert rows(cursor, f"SELECT * FROM {schema}.t WHERE id > ? ORDER BY id", (2,)) == [(3, "c"), (4, "d")]
    more = pa.table({"name": pa.array(["e"]).dictionary_encode(), "id": pa.array([5], pa.uint8())})
    assert cursor.adbc_ingest("t", more, mode="append", db_schema_name=schema) == 1
    assert rows(cursor, f"SELECT max(id), max(name), count(*) FROM {schema}.t") == [(5, "e", 5)]


@slow
def test_values_have_their_arrow_types(cursor: Any) -> None:
    cursor.execute(
        "SELECT true, 1Y, 2S, 3, 4L, 1.5F, 2.5D, 1.50BD, 'é', X'00ff', DATE'2024-02-29', "
        "TIMESTAMP'2024-02-29 12:00:00.25Z', TIMESTAMP_NTZ'2024-02-29 12:00:00', INTERVAL '1' DAY, "
        "array(1, NULL), map('k', 1), named_struct('x', 1, 'y', 'z'), NULL"
    )
    table = cursor.fetch_arrow_table()
    assert [str(kind) for kind in table.schema.types] == [
        *("bool", "int8", "int16", "int32", "int64", "float", "double", "decimal128(3, 2)", "string", "binary"),
        *("date32[day]", "timestamp[us, tz=UTC]", "timestamp[us]", "duration[us]"),
        *("list<element: int32>", "map<string, int32>", "struct<x: int32, y: string>", "null"),
    ]
    values = [column[0].as_py() for column in table.columns]
    assert values[7:11] == [Decimal("1.50"), "é", b"\x00\xff", dt.date(2024, 2, 29)]
    assert values[13:] == [dt.timedelta(days=1), [1, None], [("k", 1)], {"x": 1, "y": "z"}, None]


@slow
def test_large_result_arrives_whole_and_in_order(cursor: Any) -> None:
    cursor.execute("SELECT id, id * 2 AS twice FROM range(6000000) ORDER BY id")
    reader = cursor.fetch_record_batch()
    expected = 0
    for batch in reader:
        ids = batch.column(0)
        assert (ids[0].as_py(), ids[-1].as_py()) == (expected, expected + len(ids) - 1)
        expected += len(ids)
    assert expected == 6_000_000


MODES = {
    "create": (None, 2),
    "append": (1, 3),
    "create_append": (1, 3),
    "replace": (1, 2),
}


@slow
@pytest.mark.parametrize("mode", MODES)
def test_ingestion_is_one_commit_in_each_mode(cursor: Any, schema: str, mode: str) -> None:
    before, after = MODES[mode]
    name = f"i_{mode}"
    if before:
        rows(cursor, f"CREATE TABLE {schema}.{name} AS SELECT 0L AS a, 'z' AS b")
    data = pa.table({"a": [1, 2], "b": ["x", None]})
    assert cursor.adbc_ingest(name, data, mode=mode, db_schema_name=schema, catalog_name="spark_catalog") == 2
    assert rows(cursor, f"SELECT count(*) FROM {schema}.{name}") == [(after,)]
    assert len(rows(cursor, f"DESCRIBE HISTORY {schema}.{name}")) == (2 if before else 1)


@slow
def test_ingestion_obeys_the_constraints_of_the_table(cursor: Any, schema: str) -> None:
    rows(
        cursor,
        f"CREATE TABLE {schema}.strict (id BIGINT NOT NULL, n INT DEFAULT 7, d BIGINT GENERATED ALWAYS AS (id * 2)) "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    )
    rows(cursor, f"ALTER TABLE {schema}.strict ADD CONSTRAINT small CHECK (id < 100)")
    cursor.adbc_ingest("strict", pa.table({"id": [1, 2]}), mode="append", db_schema_name=schema)
    assert rows(cursor, f"SELECT * FROM {schema}.strict ORDER BY id") == [(1, 7, 2), (2, 7, 4)]
    for data, condition in (
        (pa.table({"id": pa.array([None], pa.int64())}), "DELTA_VIOLATE_CONSTRAINT"),
        (pa.table({"id": [3, 100]}), "DELTA_VIOLATE_CONSTRAINT"),
        (pa.table({"id": [3], "other": ["x"]}), ""),
    ):
        with pytest.raises(adbc.Error, match=condition):
            cursor.adbc_ingest("strict", data, mode="append", db_schema_name=schema)
    with pytest.raises(adbc.Error, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        cursor.adbc_ingest("strict", pa.table({"id": [3]}), mode="create", db_schema_name=schema)
    with pytest.raises(adbc.Error, match="TABLE_OR_VIEW_NOT_FOUND"):
        cursor.adbc_ingest("absent", pa.table({"id": [3]}), mode="append", db_schema_name=schema)
    assert rows(cursor, f"SELECT count(*) FROM {schema}.strict") == [(2,)]
    names = [name for _, name, _ in rows(cursor, "SHOW VIEWS")]
    assert not [name for name in names if name.startswith("flight_source_")]


@slow
def test_ingestion_of_many_batches(cursor: Any, schema: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, 80_000, 10_000):
            ids = range(start, start + 10_000)
            yield pa.record_batch({"id": list(ids), "text": [f"row number {number}" * 4 for number in ids]})

    first = next(batches())
    reader = pa.RecordBatchReader.from_batches(first.schema, batches())
    assert cursor.adbc_ingest("many", reader, mode="create", db_schema_name=schema) == 80_000
    assert rows(cursor, f"SELECT count(DISTINCT id), max(id) FROM {schema}.many") == [(80_000, 79_999)]
    assert len(rows(cursor, f"DESCRIBE HISTORY {schema}.many")) == 1


@slow
def test_objects_and_schemas_are_listed(connection: Any, cursor: Any, schema: str) -> None:
    rows(cursor, f"CREATE TABLE {schema}.child (p INT)")
    found = connection.adbc_get_objects(depth="all", db_schema_filter=schema, table_name_filter="child")
    ((database,),) = [one["catalog_db_schemas"] for one in found.read_all().to_pylist() if one["catalog_db_schemas"]]
    (table,) = database["db_schema_tables"]
    assert (table["table_name"], table["table_type"]) == ("child", "TABLE")
    assert [one["column_name"] for one in table["table_columns"]] == ["p"]
    assert connection.adbc_get_table_schema("child", db_schema_filter=schema).types == [pa.int32()]
    assert connection.adbc_get_info()["vendor_name"] == "delta-gateway"


@slow
def test_bound_batches_of_each_type_are_written(cursor: Any, schema: str) -> None:
    rows(cursor, f"CREATE TABLE {schema}.bound (i BIGINT, n DECIMAL(10, 2), d DATE, t TIMESTAMP, s STRING, b BOOLEAN)")
    values = pa.record_batch(
        {
            "i": pa.array([1, None, 3], pa.int64()),
            "n": pa.array([Decimal("1.25"), None, Decimal(3)], pa.decimal128(10, 2)),
            "d": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
            "t": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")),
            "s": pa.array(["é", None, "'"]),
            "b": pa.array([True, None, False]),
        }
    )
    cursor.executemany(f"INSERT INTO {schema}.bound VALUES (?, ?, ?, ?, ?, ?)", values)
    assert cursor.rowcount == 3
    cursor.execute(f"SELECT * FROM {schema}.bound ORDER BY i NULLS LAST")
    found = cursor.fetch_arrow_table()
    assert found.to_pylist() == [values.to_pylist()[at] for at in (0, 2, 1)]


@slow
@pytest.mark.parametrize("value", [2, "2", pa.record_batch({"n": pa.array([2], pa.uint8())})], ids=str)
def test_limit_is_a_parameter_of_any_type(cursor: Any, value: Any) -> None:
    parameters = value if isinstance(value, pa.RecordBatch) else (value,)
    assert len(rows(cursor, "SELECT id FROM range(10) LIMIT ?", parameters)) == 2


@slow
def test_prepared_statement_has_the_types_of_its_parameters(cursor: Any, schema: str) -> None:
    rows(cursor, f"CREATE TABLE {schema}.typed (i INT, n DECIMAL(10, 2), s STRING, t TIMESTAMP)")
    for text, kinds in {
        f"INSERT INTO {schema}.typed VALUES (?, ?, ?, ?)": [
            "int32",
            "decimal128(10, 2)",
            "string",
            "timestamp[us, tz=UTC]",
        ],
        f"INSERT INTO {schema}.typed (t, i) VALUES (?, ?)": ["timestamp[us, tz=UTC]", "int32"],
        f"SELECT * FROM {schema}.typed WHERE i = ? AND n > ? AND s LIKE ? LIMIT ?": [
            *("int32", "decimal128(10, 2)", "string", "int32")
        ],
        f"UPDATE {schema}.typed SET n = ?, s = ? WHERE i = ?": ["decimal128(10, 2)", "string", "int32"],
        f"DELETE FROM {schema}.typed WHERE t < ?": ["timestamp[us, tz=UTC]"],
        "SELECT CAST(? AS DATE), '?', abs(?)": ["date32[day]", "double"],
        "SELECT :a, :b + 1, :a": ["string", "string"],
    }.items():
        found = cursor.adbc_prepare(text)
        assert found is not None
        assert len(found) == len(kinds), text
        if ":a" not in text:
            assert [str(kind) for kind in found.types] == kinds, text


# ---------------------------------------------------------------------------------------------------------------- JDBC

_ARTIFACT = "org.apache.arrow:flight-sql-jdbc-driver:18.3.0"
_SHA256 = "3f418b46c880e263558c5de669bdbede2c5d4375527ced116fb29f795b03704c"


@pytest.fixture(scope="module")
def flight_java() -> Iterator[JavaGateway]:
    jar = take_jar(_ARTIFACT, ROOT / ".oracle" / "drivers" / f"{_ARTIFACT.replace(':', '-')}.jar", _SHA256)
    options = ["-Xmx512m", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    gateway = JavaGateway.launch_gateway(classpath=str(jar), java_path=java(), javaopts=options, die_on_exit=True)
    yield gateway
    gateway.shutdown()


@pytest.fixture(scope="module")
def jdbc(flight_java: JavaGateway, server: RealServer) -> Iterator[Any]:
    trusted = server.certificate.certificate
    url = f"jdbc:arrow-flight-sql://localhost:{server.flight_port}/?tlsRootCerts={trusted}"
    with closing(_jdbc_connection(flight_java, url)) as connection:
        yield connection


def _jdbc_connection(gateway: JavaGateway, url: str) -> Any:
    properties = gateway.jvm.java.util.Properties()
    properties.setProperty("user", "ada")
    properties.setProperty("password", "x")
    kind = gateway.jvm.java.lang.Class.forName("org.apache.arrow.driver.jdbc.ArrowFlightJdbcDriver")
    made = kind.getDeclaredConstructor(gateway.new_array(gateway.jvm.java.lang.Class, 0))
    return made.newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0)).connect(url, properties)


def _query(connection: Any, text: str) -> list[list[str]]:
    with closing(connection.createStatement()) as statement, closing(statement.executeQuery(text)) as result:
        return read_result(result)


@slow
def test_jdbc_reads_and_writes(jdbc: Any, schema: str) -> None:
    values = _query(jdbc, "SELECT 1, 'é', true, 1.50BD, NULL, array(1, 2)")
    assert values == [["1", "é", "true", "1.50", "NULL", "[1,2]"]]
    with closing(jdbc.createStatement()) as statement:
        assert not statement.execute(f"CREATE TABLE {schema}.j (id INT, name STRING)")
        assert statement.executeUpdate(f"INSERT INTO {schema}.j VALUES (1, 'a'), (2, 'b')") == 2
        assert statement.execute(f"SELECT * FROM {schema}.j")
    with closing(jdbc.prepareStatement(f"SELECT name FROM {schema}.j WHERE id = ?")) as prepared:
        prepared.setInt(1, 2)
        with closing(prepared.executeQuery()) as result:
            assert read_result(result) == [["b"]]
    assert [name for _, name, _ in _query(jdbc, f"SHOW TABLES IN {schema}")].count("j") == 1
    with pytest.raises(Py4JJavaError) as caught:
        _query(jdbc, "SELECT nothing")
    message = caught.value.java_exception.getMessage()
    assert "[UNRESOLVED_COLUMN" in message and "SQLSTATE: 42703" in message and "line 1" in message


@slow
def test_jdbc_metadata(jdbc: Any, schema: str) -> None:
    with closing(jdbc.createStatement()) as statement:
        statement.execute(f"CREATE TABLE {schema}.described (id INT, amount DECIMAL(10, 2))")
    metadata = jdbc.getMetaData()
    assert metadata.getDatabaseProductName() == "delta-gateway"

    def values(result: Any, name: str) -> list[str]:
        with closing(result):
            return column(read_result(result), result.findColumn(name) - 1)

    assert "spark_catalog" in values(metadata.getCatalogs(), "TABLE_CAT")
    assert schema in values(metadata.getSchemas(), "TABLE_SCHEM")
    assert values(metadata.getTables(None, schema, "desc%", None), "TABLE_NAME") == ["described"]
    assert values(metadata.getColumns(None, schema, "described", "%"), "TYPE_NAME") == ["INT", "DECIMAL(10,2)"]
    assert values(metadata.getTableTypes(), "TABLE_TYPE") == ["TABLE", "VIEW"]


@slow
def test_jdbc_binds_parameters_by_their_setters(flight_java: JavaGateway, jdbc: Any, schema: str) -> None:
    names = (
        "i INT",
        "l BIGINT",
        "f DOUBLE",
        "s STRING",
        "d DATE",
        "t TIMESTAMP",
        "n DECIMAL(10, 2)",
        "b BOOLEAN",
        "x INT",
    )
    with closing(jdbc.createStatement()) as statement:
        statement.execute(f"CREATE TABLE {schema}.setters ({', '.join(names)})")
    java_sql = flight_java.jvm.java.sql
    with closing(jdbc.prepareStatement(f"INSERT INTO {schema}.setters VALUES ({', '.join('?' * 9)})")) as prepared:
        prepared.setInt(1, 7)
        prepared.setLong(2, 1 << 40)
        prepared.setDouble(3, 0.5)
        prepared.setString(4, "é")
        prepared.setDate(5, java_sql.Date.valueOf("2024-02-29"))
        prepared.setTimestamp(6, java_sql.Timestamp.valueOf("2024-02-29 12:00:00"))
        prepared.setBigDecimal(7, flight_java.jvm.java.math.BigDecimal("1.25"))
        prepared.setBoolean(8, True)
        prepared.setNull(9, 4)
        assert prepared.executeUpdate() == 1
    found = _query(jdbc, f"SELECT * EXCEPT (t) FROM {schema}.setters")
    assert found == [["7", str(1 << 40), "0.5", "é", "2024-02-29", "1.25", "true", "NULL"]]
    with closing(jdbc.prepareStatement(f"SELECT s FROM {schema}.setters WHERE i = ? AND l > ? LIMIT ?")) as prepared:
        prepared.setInt(1, 7)
        prepared.setLong(2, 5)
        prepared.setInt(3, 10)
        with closing(prepared.executeQuery()) as result:
            assert read_result(result) == [["é"]]
