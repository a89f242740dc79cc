"""PySpark's remote sessions against a real server: rows of all types, DataFrames, writes and the catalog."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyspark.sql.connect.functions as F
import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.errors.exceptions.connect import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    ParseException,
    SparkRuntimeException,
    UnsupportedOperationException,
)
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import ArrayType, MapType, Row, StructField, StructType

from tests.clients.connect_sessions import remote_session
from tests.clients.fix_server import RealServer
from tests.gateway.http.conftest import eventually

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCHEMA = "remote"
UNRESOLVED = "UNRESOLVED_COLUMN.WITH_SUGGESTION"


@pytest.fixture(scope="module")
def spark(server: RealServer) -> Iterator[SparkSession]:
    with remote_session(server.connect_port, authority=server.certificate.certificate) as session:
        session.sql(f"CREATE SCHEMA {SCHEMA}")
        session.sql(f"USE {SCHEMA}")
        session.sql("CREATE TABLE people (id INT, name STRING, born DATE) USING delta")
        session.sql("INSERT INTO people VALUES (1, 'ann', DATE'1990-01-02'), (2, 'bob', NULL), (3, 'zoë', NULL)")
        yield session
        session.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


# SQL → the value that the client reads.
VALUES = {
    "true": True,
    "-128Y": -128,
    "32767S": 32767,
    "-2147483648": -2147483648,
    "9223372036854775807L": 9223372036854775807,
    "CAST(1.5 AS FLOAT)": 1.5,
    "1e300D": 1e300,
    "CAST(-1.50 AS DECIMAL(38,2))": Decimal("-1.50"),
    "'é \"q\" 日本'": 'é "q" 日本',
    "x'01FF'": b"\x01\xff",
    "DATE'2024-02-29'": dt.date(2024, 2, 29),
    "TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'": dt.datetime(2024, 2, 29, 12, 34, 56, 789012),
    "TIME'12:34:56.789'": dt.time(12, 34, 56, 789000),
    "INTERVAL '1 02:03:04.5' DAY TO SECOND": dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5),
    "array(1, NULL, 3)": [1, None, 3],
    "array()": [],
    "map('k', 1.0BD, 'n', NULL)": {"k": Decimal("1.0"), "n": None},
    "struct(1 AS x, 'y' AS y)": Row(x=1, y="y"),
    "array(map('a', struct(array(DATE'2024-01-01', NULL) AS d)))": [{"a": Row(d=[dt.date(2024, 1, 1), None])}],
}


@pytest.mark.parametrize("text", VALUES)
def test_value_and_null_of_a_type_arrive(spark: SparkSession, text: str) -> None:
    values = f"SELECT {text} AS v UNION ALL SELECT CAST(NULL AS {_type(spark, text)}) ORDER BY v IS NULL"
    assert [row.v for row in spark.sql(values).collect()] == [VALUES[text], None]


def _type(spark: SparkSession, text: str) -> str:
    name = spark.sql(f"SELECT {text} AS v").schema[0].dataType.simpleString()
    return "array<int>" if name == "array<void>" else name


def test_instant_is_read_in_the_zone_of_the_session(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.sql("SELECT TIMESTAMP'2024-07-01 08:00:00' AS t")
        assert frame.toArrow()["t"].to_pylist() == [dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)]
        assert frame.toPandas()["t"][0] == dt.datetime(2024, 7, 1, 8)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_variant_arrives(spark: SparkSession) -> None:
    row = spark.sql("""SELECT parse_json('{"a": [1, 2.5, null, "x"]}') AS v, array(parse_json('true'), NULL) AS l""")
    found = row.collect()[0]
    assert found.v.toPython() == {"a": [1, Decimal("2.5"), None, "x"]}
    assert (found.l[0].toPython(), found.l[1]) == (True, None)


LOCAL = [
    (1, "a", 1.5, Decimal("2.50"), dt.date(2024, 1, 1), [1, None], {"k": 1}, Row(x=1, y=None), b"\x00", True),
    (None, None, None, None, None, None, None, None, None, None),
]
LOCAL_TYPES = (
    "i bigint, s string, d double, n decimal(10,2), t date, l array<int>, m map<string,int>, "
    "r struct<x:int,y:string>, b binary, f boolean"
)


def test_local_rows_come_back_as_they_were_sent(spark: SparkSession) -> None:
    frame = spark.createDataFrame(LOCAL, LOCAL_TYPES)
    assert [tuple(row) for row in frame.collect()] == LOCAL
    assert frame.schema.simpleString() == f"struct<{LOCAL_TYPES.replace(', ', ',').replace(' ', ':')}>"


def test_local_rows_are_written_and_read(spark: SparkSession) -> None:
    spark.createDataFrame(LOCAL, LOCAL_TYPES).write.saveAsTable("local_rows")
    assert sorted(map(tuple, spark.table("local_rows").collect()), key=str) == sorted(LOCAL, key=str)


def test_many_rows_arrive_in_order(spark: SparkSession) -> None:
    table = spark.sql("SELECT id, concat('row ', id) AS s FROM range(0, 500000, 1, 4)").toArrow()
    assert table.num_rows == 500_000
    assert sorted(table["id"].to_pylist()) == list(range(500_000))


People = Callable[[Any, Any], Any]
FRAMES: dict[str, tuple[People, list[tuple[Any, ...]]]] = {
    "filter": (lambda s, p: p.filter(p.id > 1).select("name").orderBy("name"), [("bob",), ("zoë",)]),
    "aggregate": (
        lambda s, p: p.groupBy("born").count().orderBy(F.desc("count")),
        [(None, 2), (dt.date(1990, 1, 2), 1)],
    ),
    "join on columns of DataFrames": (
        lambda s, p: p.join(other := s.table("people"), p.id == other.id - 1).select(p.id, other.name).orderBy(p.id),
        [(1, "bob"), (2, "zoë")],
    ),
    "SQL within a DataFrame": (lambda s, p: s.sql("SELECT id FROM people").agg(F.sum("id")), [(6,)]),
    "SQL with arguments": (
        lambda s, p: s.sql("SELECT name FROM people WHERE id = :id", args={"id": 2}),
        [("bob",)],
    ),
    "SQL over a DataFrame": (
        lambda s, p: s.sql("SELECT count(*) FROM {some}", some=p.filter("id > 1")),
        [(2,)],
    ),
    "union of local rows": (
        lambda s, p: p.select("id").union(s.createDataFrame([(9,)], "id int")).orderBy(F.desc("id")).limit(2),
        [(9,), (3,)],
    ),
    "window": (
        lambda s, p: p.selectExpr("id", "sum(id) OVER (ORDER BY id) AS total").orderBy("id"),
        [(1, 1), (2, 3), (3, 6)],
    ),
    "result of a statement": (
        lambda s, p: s.sql("DESCRIBE HISTORY people").filter("version = 0").select("operation"),
        [("CREATE TABLE",)],
    ),
    "statement without a result": (lambda s, p: s.sql("SET VAR_OF_CLIENT = 1").limit(0), []),
    "no columns": (lambda s, p: p.select().limit(2), [(), ()]),
    "qualified name": (lambda s, p: s.table(f"{SCHEMA}.people").select("people.id").orderBy("id").limit(1), [(1,)]),
}


@pytest.mark.parametrize("case", FRAMES)
def test_rows_of_a_dataframe(spark: SparkSession, case: str) -> None:
    frame, expected = FRAMES[case]
    assert [tuple(row) for row in frame(spark, spark.table("people")).collect()] == expected


def test_empty_and_first_rows(spark: SparkSession) -> None:
    people = spark.table("people")
    assert not people.isEmpty() and people.filter("id > 9").isEmpty()
    assert people.orderBy("id").first() == Row(id=1, name="ann", born=dt.date(1990, 1, 2))
    assert (people.count(), people.columns, people.isStreaming) == (3, ["id", "name", "born"], False)


def test_table_is_shown_and_explained(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.table("people").orderBy("id").show(2)
    assert capsys.readouterr().out == (
        "+---+----+----------+\n| id|name|      born|\n+---+----+----------+\n|  1| ann|1990-01-02|\n"
        "|  2| bob|      NULL|\n+---+----+----------+\nonly showing top 2 rows\n"
    )
    spark.table("people").filter("id = 1").explain()
    assert f"`spark_catalog`.`{SCHEMA}`.`people`" in capsys.readouterr().out


def test_older_version_and_changes_are_read(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE old (id INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("INSERT INTO old VALUES (1)")
    spark.sql("UPDATE old SET id = 2")
    assert [row.id for row in spark.read.option("versionAsOf", 1).table("old").collect()] == [1]
    feed = spark.read.option("readChangeFeed", "true").option("startingVersion", 2).table("old")
    assert sorted((row.id, row._change_type) for row in feed.collect()) == [
        (1, "update_preimage"),
        (2, "update_postimage"),
    ]


def test_statement_of_sql_runs_once(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE once (id INT) USING delta")
    inserted = spark.sql("INSERT INTO once VALUES (1)")
    assert [row.num_affected_rows for row in inserted.collect()] == [1]
    inserted.collect()
    assert spark.table("once").count() == 1


def test_modes_of_writes(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x")], "a int, b string")
    rows.write.saveAsTable("written")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        rows.write.saveAsTable("written")
    rows.write.mode("ignore").saveAsTable("written")
    rows.select("b", "a").write.mode("append").saveAsTable("written")
    rows.write.insertInto("written")
    assert [tuple(row) for row in spark.table("written").collect()] == [(1, "x")] * 3
    with_c = rows.withColumn("c", F.lit(2))
    with_c.write.mode("append").option("mergeSchema", "true").saveAsTable("written")
    assert spark.table("written").filter("c = 2").count() == 1
    rows.write.mode("overwrite").saveAsTable("written")
    assert spark.table("written").select("a", "b", "c").collect() == [Row(a=1, b="x", c=None)]
    rows.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable("written")
    assert spark.table("written").columns == ["a", "b"]
    rows.write.mode("overwrite").option("replaceWhere", "a = 1").saveAsTable("written")
    assert spark.table("written").count() == 1


def test_write_to_and_merge(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x"), (2, "y")], "a int, b string")
    rows.writeTo("merged").using("delta").partitionedBy("a").create()
    rows.writeTo("merged").append()
    rows.filter("a = 2").writeTo("merged").overwrite(F.col("a") == 2)
    assert sorted(row.a for row in spark.table("merged").collect()) == [1, 1, 2]
    rows.writeTo("merged").createOrReplace()
    source = spark.createDataFrame([(2, "new"), (3, "z")], "a int, b string").alias("s")
    merge = source.mergeInto("merged", F.expr("merged.a = s.a"))
    merge = merge.whenMatched(F.col("s.b") == "new").update({"b": F.upper("s.b")}).whenNotMatched().insertAll()
    merge.whenNotMatchedBySource().delete().merge()
    assert sorted(map(tuple, spark.table("merged").collect())) == [(2, "NEW"), (3, "z")]


def test_source_of_a_write_is_dropped(spark: SparkSession) -> None:
    spark.createDataFrame([(1,)], "a int").write.saveAsTable("dropped_source")

    def listed() -> list[str]:
        return [table.name for table in spark.catalog.listTables()]

    # The client learns the end of the write before the server has dropped its source.
    assert eventually(lambda: not any(name.startswith("connect_source_") for name in listed()))
    assert "dropped_source" in listed()


def test_temporary_view_over_a_dataframe(spark: SparkSession) -> None:
    spark.table("people").filter("id > 1").createOrReplaceTempView("some_people")
    assert spark.sql("SELECT count(*) AS n FROM some_people JOIN people USING (id)").collect() == [Row(n=2)]
    assert spark.catalog.dropTempView("some_people") and not spark.catalog.dropTempView("some_people")


def test_catalog_lists_describes_and_changes(spark: SparkSession) -> None:
    catalog = spark.catalog
    assert (catalog.currentCatalog(), catalog.currentDatabase()) == ("spark_catalog", SCHEMA)
    assert "people" in [table.name for table in catalog.listTables(pattern="pe*")]
    assert SCHEMA in [database.name for database in catalog.listDatabases()]
    assert [(column.name, column.dataType) for column in catalog.listColumns("people")] == [
        ("id", "int"),
        ("name", "string"),
        ("born", "date"),
    ]
    assert (catalog.tableExists("people"), catalog.tableExists("nobody")) == (True, False)
    assert (catalog.databaseExists(SCHEMA), catalog.databaseExists("nobody")) == (True, False)
    assert (catalog.functionExists("abs"), catalog.functionExists("nothing")) == (True, False)
    assert catalog.getTable("people").namespace == [SCHEMA]
    assert catalog.createTable("made", schema=spark.table("people").schema).columns == ["id", "name", "born"]
    catalog.dropTable("made")
    assert not catalog.tableExists("made")


def test_function_of_a_schema_has_its_names_and_its_comment(spark: SparkSession) -> None:
    spark.sql("CREATE OR REPLACE FUNCTION adds(x INT) RETURNS INT COMMENT 'a: b' RETURN x + 1")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION adds_once(x INT) RETURNS INT RETURN x + 1")
    for name in ("adds", f"{SCHEMA}.adds", f"spark_catalog.{SCHEMA}.adds"):
        function = spark.catalog.getFunction(name)
        assert (function.name, function.catalog, function.namespace) == ("adds", "spark_catalog", [SCHEMA])
        assert (function.description, function.isTemporary) == ("a: b", False)
    for name in ("adds_once", "abs"):
        function = spark.catalog.getFunction(name)
        assert (function.name, function.catalog, function.isTemporary) == (name, None, True)
    with pytest.raises(AnalysisException, match="ROUTINE_NOT_FOUND"):
        spark.catalog.getFunction("nothing")


def test_partitions_of_a_missing_table_are_not_recovered(spark: SparkSession) -> None:
    spark.catalog.recoverPartitions("people")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.catalog.recoverPartitions("nothing")


def test_settings_are_those_of_set(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert spark.sql("SELECT CAST('x' AS INT) AS v").collect() == [Row(v=None)]
    spark.conf.unset("spark.sql.ansi.enabled")
    assert spark.conf.isModifiable("spark.sql.ansi.enabled") and not spark.conf.isModifiable("spark.driver.memory")
    with pytest.raises(AnalysisException, match="CONFIG_NOT_AVAILABLE"):
        spark.conf.set("spark.driver.memory", "1g")


ERRORS = {
    "SELEC 1": (ParseException, "PARSE_SYNTAX_ERROR", "42601"),
    "SELECT * FROM nobody": (AnalysisException, "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    "SELECT nothing FROM people": (AnalysisException, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    "SELECT 1 / 0": (ArithmeticException, "DIVIDE_BY_ZERO", "22012"),
    "SELECT CAST('x' AS INT)": (NumberFormatException, "CAST_INVALID_INPUT", "22018"),
    "SELECT CAST('x' AS BOOLEAN)": (SparkRuntimeException, "CAST_INVALID_INPUT", "22018"),
    "SELECT CAST('x' AS DATE)": (DateTimeException, "CAST_INVALID_INPUT", "22018"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_error_has_its_class_condition_and_state(spark: SparkSession, text: str) -> None:
    kind, condition, state = ERRORS[text]
    with pytest.raises(kind) as caught:
        spark.sql(text).collect()
    assert (caught.value.getCondition(), caught.value.getSqlState()) == (condition, state)


def test_error_has_sparks_parameters_and_the_text_of_its_expression(spark: SparkSession) -> None:
    text = "SELECT id,\n 1 / (id - 1) AS x FROM people"
    with pytest.raises(ArithmeticException) as caught:
        spark.sql(text).collect()
    (context,) = caught.value.getQueryContext()
    assert context.fragment() == "1 / (id - 1)"
    assert text[context.startIndex() : context.stopIndex() + 1] == context.fragment()
    assert caught.value.getMessageParameters() == {"config": '"spark.sql.ansi.enabled"'}
    with pytest.raises(AnalysisException) as unresolved:
        spark.table("people").select("nothing").collect()
    assert unresolved.value.getMessageParameters() == {"objectName": "`nothing`", "proposal": "`born`, `id`, `name`"}
    with pytest.raises(AnalysisException, match="cartesian"):  # Spark has no condition with a name for it
        spark.conf.set("spark.sql.crossJoin.enabled", "false")
        try:
            spark.range(1).join(spark.range(1).toDF("b")).collect()
        finally:
            spark.conf.unset("spark.sql.crossJoin.enabled")


# A failing call → its condition, and the summary of its query context; None: it has none.
PLACES: dict[str, tuple[Callable[[SparkSession], Any], str, str | None]] = {
    "query": (
        lambda s: s.sql("SELECT id,\n nope FROM people").collect(),
        UNRESOLVED,
        "line 2, column 2\n nope FROM people\n ^",
    ),
    "plan over a query": (
        lambda s: s.sql("SELECT\n 1 / (id - 1) AS x FROM people").filter("x > 0").collect(),
        "DIVIDE_BY_ZERO",
        "line 2, column 2\n 1 / (id - 1) AS x FROM people\n ^",
    ),
    "expression": (
        lambda s: s.table("people").filter("id = nope").collect(),
        UNRESOLVED,
        "line 1, column 6\nid = nope\n     ^",
    ),
    "expression of a write": (
        lambda s: s.table("people").selectExpr("1 / (id - 1) AS x").write.saveAsTable("fractions"),
        "DIVIDE_BY_ZERO",
        "line 1, column 1\n1 / (id - 1) AS x\n^",
    ),
    "table": (lambda s: s.table("missing").collect(), "TABLE_OR_VIEW_NOT_FOUND", None),
    "path": (lambda s: s.read.csv("/missing").collect(), "PATH_NOT_ALLOWED", None),
    "write": (lambda s: s.table("people").write.saveAsTable("people"), "TABLE_OR_VIEW_ALREADY_EXISTS", None),
    "columns of a write": (
        lambda s: s.range(1).selectExpr("id", "1 AS a", "2 AS b", "3 AS c").write.insertInto("people"),
        "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
        None,
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_error_shows_its_place_in_the_texts_of_the_program_only(spark: SparkSession, case: str) -> None:
    call, condition, summary = PLACES[case]
    with pytest.raises(PySparkException) as caught:
        call(spark)
    contexts = [context.summary() for context in caught.value.getQueryContext()]
    assert (caught.value.getCondition(), contexts) == (condition, [] if summary is None else [summary])
    assert "connect_source" not in str(caught.value) and "gateway_input" not in str(caught.value)


REJECTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Python function": (lambda s: s.range(1).select(F.udf(lambda x: x)("id")).collect(), "user-defined function"),
    "registered function": (lambda s: s.udf.register("f", lambda x: x), "Registering a function"),
    "mapInPandas": (lambda s: s.range(1).mapInPandas(lambda rows: rows, "id bigint").collect(), "mapInPandas"),
    "stream": (lambda s: s.readStream.table("people").schema, "Structured Streaming"),
    "jdbc": (lambda s: s.read.format("jdbc").option("url", "x").load().collect(), "jdbc"),
    "CSV": (lambda s: s.range(1).write.csv("/tmp/x"), "Writing the format csv"),
    "checkpoint": (lambda s: s.range(1).localCheckpoint(), "checkpoint"),
    "artifact": (lambda s: s.addArtifact(__file__, pyfile=True), "Sending artifacts"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_feature_that_runs_code_of_the_client_is_rejected_by_name(spark: SparkSession, case: str) -> None:
    run, name = REJECTED[case]
    with pytest.raises(UnsupportedOperationException, match=name) as caught:
        run(spark)
    assert caught.value.getCondition() == "UNSUPPORTED_CONNECT_FEATURE"


def test_calls_of_sparks_jdbc_driver_are_answered(spark: SparkSession) -> None:
    """A statement has a result set if its schema has columns; columns are read by a schema for each table."""
    assert spark.sql("CREATE TABLE from_jdbc (id INT NOT NULL, name STRING) USING delta").schema == StructType([])
    assert spark.sql("USE spark_catalog").schema == StructType([])
    spark.catalog.setCurrentDatabase(SCHEMA)
    assert spark.sql("SELECT * FROM from_jdbc").limit(10).collect() == []
    assert "spark_catalog" in [catalog.name for catalog in spark.catalog.listCatalogs()]
    listed = spark.catalog.listTables(f"spark_catalog.{SCHEMA}", "from*")
    assert [table.name for table in listed] == ["from_jdbc"]
    fields = spark.table(f"spark_catalog.{SCHEMA}.from_jdbc").schema.fields
    assert [(field.name, field.dataType.simpleString(), field.nullable) for field in fields] == [
        ("id", "int", True),
        ("name", "string", True),
    ]


# SQL → the schema that Spark has for it.
NULLABLE = {
    "SELECT 1 AS a, CAST(NULL AS INT) AS b": "a!:int, b:int",
    "SELECT id, id + 1 AS next FROM range(3)": "id!:bigint, next!:bigint",
    "SELECT array(1, 2) AS a, array(1, NULL) AS b": "a!:array<int!>, b!:array<int>",
    "SELECT map('k', 1) AS m, map('k', NULL) AS n": "m!:map<string,int!>, n!:map<string,void>",
    "SELECT named_struct('x', 1, 'y', CAST(NULL AS STRING)) AS s": "s!:struct<x!:int,y:string>",
    "SELECT count(*) AS n, max(id) AS m FROM range(3)": "n!:bigint, m:bigint",
    # Files may break NOT NULL, so that a scan's columns are nullable.
    "SELECT id, name FROM required": "id:int, name:string",
    "SELECT r.id, o.id AS other FROM required AS r LEFT JOIN required AS o USING (id)": "id:int, other:int",
}


@pytest.mark.parametrize("text", NULLABLE)
def test_schema_has_sparks_nullability(spark: SparkSession, text: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS required (id INT NOT NULL, name STRING) USING delta")
    fields = spark.sql(text).schema.fields
    assert ", ".join(map(_shown_field, fields)) == NULLABLE[text]


def _shown_field(field: StructField) -> str:
    return f"{field.name}{'' if field.nullable else '!'}:{_shown(field.dataType)}"


def _shown(kind: Any) -> str:
    """Returns a type with `!` after each part that has no nulls."""
    if isinstance(kind, ArrayType):
        return f"array<{_shown(kind.elementType)}{'' if kind.containsNull else '!'}>"
    if isinstance(kind, MapType):
        value = f"{_shown(kind.valueType)}{'' if kind.valueContainsNull else '!'}"
        return f"map<{_shown(kind.keyType)},{value}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(map(_shown_field, kind.fields))}>"
    return str(kind.simpleString())
