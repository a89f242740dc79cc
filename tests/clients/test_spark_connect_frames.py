"""DataFrames of PySpark's remote sessions whose columns depend on rows: pivots, statistics, transposed rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import pyspark.sql.connect.functions as F
import pytest
from pyspark import StorageLevel
from pyspark.errors.exceptions.base import (
    AnalysisException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)
from pyspark.ml.linalg import Vectors
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.observation import Observation
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    Row,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
)

from tests.clients.connect_sessions import remote_session
from tests.clients.fix_server import RealServer
from tests.samples import some

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCHEMA = "frames"
# Sales of shops; one has no region.
SALES = [("north", "tea", 1, 2.0), ("north", "milk", 2, None), ("south", "tea", 4, 8.0), (None, "a`b", 5, math.nan)]


@pytest.fixture(scope="module")
def spark(server: RealServer) -> Iterator[SparkSession]:
    with remote_session(server.connect_port, authority=server.certificate.certificate) as session:
        session.sql(f"CREATE SCHEMA {SCHEMA}")
        session.sql(f"USE {SCHEMA}")
        session.createDataFrame(SALES, "region string, item string, n int, price double").write.saveAsTable("sales")
        yield session
        session.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def _texts(rows: list[Row]) -> list[str]:
    return [str(tuple(row)) for row in rows]


def test_pivot_without_values_has_a_column_for_each_value_in_their_order(spark: SparkSession) -> None:
    pivoted = spark.table("sales").groupBy("item").pivot("region").sum("n")
    assert pivoted.columns == ["item", "null", "north", "south"]
    assert [tuple(row) for row in pivoted.orderBy("item").collect()] == [
        ("a`b", 5, None, None),
        ("milk", None, 2, None),
        ("tea", None, 1, 4),
    ]
    pivoted.write.saveAsTable("pivoted")
    assert spark.table("pivoted").count() == 3


# SQL of a column → the names of the columns of a pivot without values over it.
PIVOTED = {
    "true": "true",
    "3Y": "3",
    "300S": "300",
    "9000000000L": "9000000000",
    "1.5D": "1.5",
    "-1.50BD": "-1.50",
    "'it''s `q`'": "it's `q`",
    "DATE'2024-02-29'": "2024-02-29",
    "TIMESTAMP'2024-02-29 10:00:00.5'": "2024-02-29 10:00:00.5",
    "TIMESTAMP_NTZ'1960-01-01 00:00:00'": "1960-01-01 00:00:00",
    "CAST(NULL AS DATE)": "null",
    "CAST(NULL AS DECIMAL(5,2))": "null",
}


@pytest.mark.parametrize("text", some(PIVOTED, [*PIVOTED][::4]))
def test_pivot_without_values_over_a_type(spark: SparkSession, text: str) -> None:
    pivoted = spark.sql(f"SELECT 1 AS g, {text} AS v").groupBy("g").pivot("v").count()
    assert (pivoted.columns, [tuple(row) for row in pivoted.collect()]) == (["g", PIVOTED[text]], [(1, 1)])


def test_pivot_without_values_and_without_rows_has_the_groups_only(spark: SparkSession) -> None:
    empty = spark.table("sales").filter("n > 9").groupBy("item").pivot("region").agg(F.sum("n"), F.max("price"))
    assert (empty.columns, empty.collect()) == (["item"], [])


def test_pivot_without_values_is_rejected_for_too_many_values_and_for_arrays(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="10000 distinct values") as caught:
        spark.range(10_001).groupBy().pivot("id").count().collect()
    assert caught.value.getCondition() == "PIVOT_TOO_MANY_VALUES"
    assert len(spark.range(10_000).groupBy().pivot("id").count().columns) == 10_000
    with pytest.raises(PySparkException, match="array<int>"):
        spark.sql("SELECT array(1) AS v").groupBy().pivot("v").count().collect()


Sales = Callable[[Any], Any]
# A statistic of the table → its value, as Spark has it: nulls count as 0 for cov and corr, not for quantiles.
STATISTICS: dict[str, tuple[Sales, Any]] = {
    "cov": (lambda t: t.filter("n < 5").stat.cov("n", "price"), pytest.approx(16 / 3)),
    "corr": (lambda t: t.filter("n < 5").corr("n", "price"), pytest.approx(0.8386278693775346)),
    "cov of one row": (lambda t: t.limit(1).cov("n", "price"), 0.0),
    "cov of no row": (lambda t: t.limit(0).cov("n", "price"), 0.0),
    "quantiles": (lambda t: t.approxQuantile("n", [0.0, 0.5, 1.0], 0.0), [1.0, 2.0, 5.0]),
    "quantiles of columns": (lambda t: t.approxQuantile(["n", "price"], [0.5], 0.1), [[2.0], [2.0]]),
    "quantiles of no row": (lambda t: t.limit(0).approxQuantile("n", [0.5], 0.1), []),
    "frequent items": (lambda t: list(t.freqItems(["item", "n"], 0.5).collect()[0]), [["tea"], []]),
    "crosstab": (
        lambda t: [t.crosstab("region", "item").columns, sorted(_texts(t.crosstab("region", "item").collect()))],
        [
            ["region_item", "ab", "milk", "tea"],
            ["('north', 0, 1, 1)", "('null', 1, 0, 0)", "('south', 0, 0, 1)"],
        ],
    ),
    "crosstab of no row": (lambda t: t.limit(0).crosstab("region", "item").columns, ["region_item"]),
}


@pytest.mark.parametrize("case", STATISTICS)
def test_statistic_has_sparks_value(spark: SparkSession, case: str) -> None:
    call, expected = STATISTICS[case]
    assert call(spark.table("sales")) == expected


def test_correlation_of_one_row_and_of_nan_is_nan(spark: SparkSession) -> None:
    sales = spark.table("sales")
    assert math.isnan(sales.limit(1).corr("n", "price")) and math.isnan(sales.corr("n", "price"))


def test_statistic_of_a_missing_column_is_rejected(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.table("sales").cov("n", "nothing")
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_transposed_rows_are_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("b", 3, 4.5), ("a", 1, None), (None, 7, 7.0)], "name string, x int, y double")
    turned = frame.transpose()
    assert turned.schema.simpleString() == "struct<key:string,a:double,b:double>"
    assert [tuple(row) for row in turned.collect()] == [("x", 1.0, 3.0), ("y", None, 4.5)]
    by_x = frame.select("x", "y").transpose("x")
    assert [tuple(row) for row in by_x.collect()] == [("y", None, 4.5, 7.0)] and by_x.columns == ["key", "1", "3", "7"]
    assert frame.limit(0).transpose().columns == ["key"]
    with pytest.raises(PySparkException, match="limit of 500") as caught:
        spark.range(501).selectExpr("id", "1 AS x").transpose().collect()
    assert caught.value.getCondition() == "TRANSPOSE_EXCEED_ROW_LIMIT"


def test_last_rows_of_several_batches(spark: SparkSession) -> None:
    many = spark.range(0, 100_000, 1, 4)
    assert [row.id for row in many.orderBy("id").tail(3)] == [99_997, 99_998, 99_999]
    assert len(many.tail(20_000)) == 20_000
    assert (spark.range(2).tail(5), spark.range(2).tail(0)) == ([Row(id=0), Row(id=1)], [])


def test_notebooks_show_a_dataframe_as_html(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("<a>", None), ("b", 2)], "name string, n int")
    assert frame._repr_html_() is None
    spark.conf.set("spark.sql.repl.eagerEval.enabled", True)
    spark.conf.set("spark.sql.repl.eagerEval.maxNumRows", 1)
    try:
        assert frame._repr_html_() == (
            "<table border='1'>\n<tr><th>name</th><th>n</th></tr>\n<tr><td>&lt;a&gt;</td><td>NULL</td></tr>\n"
            "</table>\nonly showing top 1 row\n"
        )
    finally:
        spark.conf.unset("spark.sql.repl.eagerEval.enabled")
        spark.conf.unset("spark.sql.repl.eagerEval.maxNumRows")


def test_settings_of_the_client_are_stored(spark: SparkSession) -> None:
    conf = spark.conf
    assert conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    conf.set("spark.sql.execution.arrow.pyspark.enabled", False)
    assert conf.get("spark.sql.execution.arrow.pyspark.enabled") == "false"
    conf.unset("spark.sql.execution.arrow.pyspark.enabled")
    conf.set("spark.sql.execution.arrow.enabled", False)
    assert conf.get("spark.sql.execution.arrow.pyspark.enabled") == "false"  # the older key counts while it is not set
    conf.set("spark.sql.execution.arrow.pyspark.enabled", True)
    assert conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    for key in ("spark.sql.execution.arrow.pyspark.enabled", "spark.sql.execution.arrow.enabled"):
        conf.unset(key)
    assert conf.isModifiable("spark.sql.execution.arrow.maxRecordsPerBatch")
    conf.set("spark.sql.pyspark.inferNestedDictAsStruct.enabled", True)
    try:
        assert spark.createDataFrame([({"a": 1},)], ["d"]).schema.simpleString() == "struct<d:struct<a:bigint>>"
    finally:
        conf.unset("spark.sql.pyspark.inferNestedDictAsStruct.enabled")
    conf.unset("spark.sql.no.such.setting")
    with pytest.raises(PySparkException) as caught:
        conf.set("spark.sql.ansi.enabled", None)
    assert caught.value.getCondition() == "INVALID_CONF_VALUE"


def test_metadata_of_columns_is_in_the_schema(spark: SparkSession) -> None:
    named = F.col("id").alias("x", metadata={"max": 3, "of": {"a": [1, 2]}})
    frame = spark.range(2).select(named).withMetadata("x", {"unit": "m", "comment": "length"})
    assert frame.schema["x"].metadata == {"unit": "m", "comment": "length"}
    assert spark.range(2).select(named).filter("x > 0").schema["x"].metadata == {"max": 3, "of": {"a": [1, 2]}}
    inner = StructType().add("n", IntegerType(), metadata={"unit": "s"})
    given = StructType().add("s", inner, metadata={"outer": True})
    frame = spark.createDataFrame([((1,),)], given)
    assert (frame.schema["s"].metadata, frame.schema["s"].dataType) == ({"outer": True}, inner)
    assert frame.collect() == [Row(s=Row(n=1))]


def test_fields_with_equal_names_arrive(spark: SparkSession) -> None:
    schema = StructType().add("s", StructType().add("x", IntegerType()).add("x", StringType()))
    rows = [Row(s=Row("x", "x")(1, "a")), Row(s=Row("x", "x")(2, "b"))]
    frame = spark.createDataFrame(rows, schema)
    assert (frame.schema, frame.collect()) == (schema, rows)


def test_decimals_of_all_digits_arrive(spark: SparkSession) -> None:
    values = [(Decimal("99.99"),), (None,), (Decimal("-99.99"),)]
    assert [tuple(row) for row in spark.createDataFrame(values, "d decimal(4,2)").collect()] == values


def test_text_that_is_no_schema_is_a_parse_error(spark: SparkSession) -> None:
    with pytest.raises(ParseException, match="a frobnicate") as failure:
        spark.createDataFrame([(1,)], "a frobnicate")
    assert failure.value.getCondition() == "PARSE_SYNTAX_ERROR"


def test_partitions_with_new_rows_are_overwritten(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "a"), (2, "a"), (3, "b"), (4, None)], "n int, p string")
    rows.writeTo("by_partition").partitionedBy("p").create()
    changes = spark.createDataFrame([(9, "a"), (8, None), (7, "c")], "n int, p string")
    changes.writeTo("by_partition").overwritePartitions()
    table = spark.table("by_partition")
    assert sorted(map(str, table.collect())) == sorted(map(str, [(Row(n=3, p="b")), *changes.collect()]))
    writer = rows.filter("n = 3").withColumn("n", F.lit(6)).write.option("partitionOverwriteMode", "dynamic")
    writer.mode("overwrite").saveAsTable("by_partition")
    assert table.filter("p = 'b'").collect() == [Row(n=6, p="b")]
    assert table.count() == 4
    rows.filter("n = 1").write.mode("overwrite").saveAsTable("by_partition")  # the mode was that of one write
    assert table.collect() == [Row(n=1, p="a")]


def test_write_with_a_transaction_version_is_committed_once(spark: SparkSession) -> None:
    rows = spark.range(3)
    rows.write.saveAsTable("numbered")
    for version in ("1", "1", "2"):
        writer = rows.write.mode("append").option("txnAppId", "loads")
        writer.option("txnVersion", version).saveAsTable("numbered")
    assert spark.table("numbered").count() == 9


def test_storage_level_is_what_the_client_has_set(spark: SparkSession) -> None:
    frame, none = spark.table("sales").filter("n > 1"), StorageLevel(False, False, False, False)
    assert (frame.is_cached, frame.storageLevel) == (False, none)
    frame.cache()
    assert (frame.is_cached, frame.storageLevel) == (True, StorageLevel.MEMORY_AND_DISK_DESER)
    assert spark.table("sales").filter("n > 1").is_cached and not spark.table("sales").is_cached
    frame.unpersist()
    assert not frame.is_cached
    frame.persist(StorageLevel.DISK_ONLY).persist()
    assert frame.storageLevel == StorageLevel.DISK_ONLY
    turned = spark.table("sales").select("item", "n").transpose()
    assert turned.cache().is_cached


def test_table_is_cached_until_it_is_not(spark: SparkSession) -> None:
    catalog = spark.catalog
    assert not catalog.isCached("sales")
    catalog.cacheTable("sales")
    assert catalog.isCached(f"{SCHEMA}.sales")
    catalog.uncacheTable(f"spark_catalog.{SCHEMA}.sales")
    assert not catalog.isCached("sales")
    catalog.cacheTable("sales", StorageLevel.DISK_ONLY)
    catalog.clearCache()
    assert not catalog.isCached("sales")
    for call in (catalog.cacheTable, catalog.uncacheTable, catalog.isCached):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            call("missing")


def test_input_files_are_those_of_the_tables(spark: SparkSession) -> None:
    sales = spark.table("sales")
    spark.createDataFrame([(1,), (2,)], "n int").write.saveAsTable("other_input")
    files = [path for name in ("sales", "other_input") for path in _files(spark, name)]
    assert sales.inputFiles() == _files(spark, "sales")
    joined = sales.join(spark.table("other_input"), "n").groupBy("item").count()
    assert joined.inputFiles() == sorted(files)
    assert all(path.startswith("file:///") for path in files)
    assert spark.range(3).inputFiles() == []
    sales.createOrReplaceTempView("some_sales")
    for frame, name in ((spark.table("some_sales"), "a view"), (spark.sql("SELECT * FROM sales"), "a SQL text")):
        with pytest.raises(UnsupportedOperationException, match=f"inputFiles of {name}"):
            frame.inputFiles()


def _files(spark: SparkSession, table: str) -> list[str]:
    rows = spark.sql(f"SELECT DISTINCT _metadata.file_path AS path FROM {table}").collect()
    return sorted(row.path.replace("file:/", "file:///") for row in rows)


ROWS = (F.count("*").alias("rows"), F.sum("id").alias("sum"))
# Actions on a DataFrame of 1000 rows, each of which computes all of them once.
ACTIONS: dict[str, Callable[[DataFrame], Any]] = {
    "collected": lambda rows: rows.collect(),
    "sorted": lambda rows: rows.orderBy(F.desc("id")).collect(),
    "filtered": lambda rows: rows.filter("id > 990").collect(),
    "joined": lambda rows: rows.join(rows.sparkSession.range(5), "id").collect(),
    "aggregated": lambda rows: rows.groupBy(F.col("id") % 3).count().collect(),
    "last rows": lambda rows: rows.tail(1),
    "pandas": lambda rows: rows.toPandas(),
    "created": lambda rows: rows.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable("observed"),
    "appended": lambda rows: rows.write.mode("append").saveAsTable("observed"),
    "replaced": lambda rows: rows.write.mode("overwrite").option("replaceWhere", "id >= 0").saveAsTable("observed"),
    "clustered": lambda rows: rows.write.mode("append").saveAsTable("observed_in_order"),
}


def test_metrics_are_observed_once_by_each_action(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE observed_in_order (id BIGINT) USING delta CLUSTER BY (id)")
    for name, act in ACTIONS.items():
        metrics = Observation()
        act(spark.range(0, 1000, 1, 3).observe(metrics, *ROWS))
        assert (name, metrics.get) == (name, {"rows": 1000, "sum": 499500})
    assert spark.table("observed").count() == 1000


def test_metrics_have_the_types_of_their_values(spark: SparkSession) -> None:
    metrics, others = Observation("first"), Observation("second")
    columns = "name", "s", "d", "none"
    row = spark.sql("SELECT 'x' AS name, named_struct('q', array(1)) AS s, 1.50BD AS d, CAST(NULL AS INT) AS none")
    observed = row.observe(metrics, *(F.max(name).alias(name) for name in columns)).filter("d > 2")
    assert observed.observe(others, F.count("*").alias("n")).collect() == []
    assert metrics.get == {"name": "x", "s": Row(q=[1]), "d": Decimal("1.50"), "none": None}
    assert others.get == {"n": 0}


def test_metrics_that_would_count_rows_again_are_rejected(spark: SparkSession) -> None:
    observed = spark.range(3).observe("m", *ROWS)
    with pytest.raises(UnsupportedOperationException, match="observe in the command create_dataframe_view"):
        observed.createOrReplaceTempView("observed_rows")
    with pytest.raises(UnsupportedOperationException, match="observe in the command merge_into_table_command"):
        observed.mergeInto("observed", F.expr("observed.id = source.id")).whenNotMatched().insertAll().merge()
    with pytest.raises(AnalysisException, match="INVALID_OBSERVED_METRICS"):
        spark.range(3).observe("m", F.col("id").alias("x")).collect()


@dataclass(frozen=True)
class Point:
    """A value of a user-defined type."""

    x: float
    y: float


class PointType(UserDefinedType):
    """A user-defined type of Python: a struct with more fields than Spark's short names of types show."""

    @classmethod
    def sqlType(cls) -> StructType:
        names = "x", "y", *(f"unused_{number}" for number in range(30))
        return StructType([StructField(name, DoubleType()) for name in names])

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Point) -> tuple[float | None, ...]:
        return (obj.x, obj.y, *(None,) * 30)

    def deserialize(self, datum: Any) -> Point:
        return Point(datum[0], datum[1])


POINTS = StructType(
    [StructField("id", IntegerType()), StructField("p", PointType()), StructField("all", ArrayType(PointType()))]
)
POINT_ROWS = [Row(id=1, p=Point(1.0, 2.0), all=[Point(3.0, 4.0), None]), Row(id=2, p=None, all=None)]
# An operation on rows with a user-defined type → what it returns.
OF_POINTS: dict[str, tuple[Callable[[DataFrame], Any], Any]] = {
    "collected": (lambda rows: rows.orderBy("id").collect(), POINT_ROWS),
    "schema": (lambda rows: rows.schema, POINTS),
    "selected": (lambda rows: rows.select("p").filter("id = 1").collect(), [Row(p=Point(1.0, 2.0))]),
    "in a list": (lambda rows: rows.filter("id = 1").selectExpr("all[0]").first()[0], Point(3.0, 4.0)),
    "grouped": (lambda rows: rows.filter("id = 1").groupBy("p").count().collect(), [Row(p=Point(1.0, 2.0), count=1)]),
    "arrow": (lambda rows: rows.orderBy("id").toArrow()["p"][0].as_py()["y"], 2.0),
}


@pytest.mark.parametrize("name", OF_POINTS)
def test_user_defined_types_of_python_come_back_as_they_were(spark: SparkSession, name: str) -> None:
    act, expected = OF_POINTS[name]
    assert act(spark.createDataFrame(POINT_ROWS, POINTS)) == expected


def test_vectors_of_spark_ml_come_back_as_they_were(spark: SparkSession) -> None:
    vectors = [Vectors.dense(1.0, 2.0), Vectors.sparse(3, {1: 2.0})]  # their types have a class of Java, too
    rows = spark.createDataFrame(list(enumerate(vectors)), ["id", "vector"])
    assert [row["vector"] for row in rows.orderBy("id").collect()] == vectors
    assert rows.to(rows.schema).schema == rows.schema


def test_user_defined_types_of_python_in_a_view(spark: SparkSession) -> None:
    spark.createDataFrame(POINT_ROWS, POINTS).createOrReplaceTempView("points")
    assert spark.sql("SELECT p FROM points WHERE id = 1").collect() == [Row(p=Point(1.0, 2.0))]
    spark.catalog.dropTempView("points")


def test_user_defined_types_are_stored_as_their_underlying_types(spark: SparkSession) -> None:
    spark.createDataFrame(POINT_ROWS, POINTS).write.saveAsTable("points_stored")
    stored = spark.table("points_stored")
    assert stored.schema["p"].dataType == PointType.sqlType()
    assert stored.schema["all"].dataType == ArrayType(PointType.sqlType())
    assert [row["p"]["y"] for row in stored.orderBy("id").select("p").filter("p IS NOT NULL").collect()] == [2.0]
    assert stored.filter("id = 1").first()["all"][0]["x"] == 3.0


def test_local_rows_without_a_schema_have_the_types_of_their_arrow_columns(spark: SparkSession) -> None:
    rows = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert [tuple(row) for row in spark.createDataFrame(rows, ["n", "s"]).collect()] == [(1, "x"), (2, None)]


def test_sample_by_takes_the_fraction_of_each_stratum(spark: SparkSession) -> None:
    rows = spark.range(0, 600, 1, 3).selectExpr("id", "IF(id % 4 = 3, NULL, id % 4) AS stratum")
    sample = rows.sampleBy("stratum", {0: 1.0, 1: 0.5}, seed=7)
    found = [row["id"] for row in sample.select(sample["id"]).collect()]
    assert {number for number in found if number % 4 == 0} == set(range(0, 600, 4))
    half = [number for number in found if number % 4 == 1]
    assert 50 < len(half) < 100 and len(found) == 150 + len(half)
    again = rows.filter("rand(7) < CASE stratum WHEN 0 THEN 1.0D WHEN 1 THEN 0.5D ELSE 0.0D END")
    assert [row["id"] for row in again.collect()] == found
    assert rows.sampleBy("stratum", {}, seed=7).count() == 0
    with pytest.raises(AnalysisException, match="a fraction of sampleBy that is not between 0 and 1"):
        rows.sampleBy("stratum", {1: 1.5}, seed=7).collect()
