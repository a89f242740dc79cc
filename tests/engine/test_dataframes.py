"""DataFrame plans as queries: rows, names, and what they are analyzed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.connect_plans import CLIENT, F, MakeFrame, input_table, plan
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> LakeEngine:
    folder: Path = tmp_path_factory.mktemp("lake")
    opened = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    session = opened.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE t (a INT, b STRING, c DOUBLE)")
    run(session, "INSERT INTO t VALUES (1, 'x', 0.5), (2, 'y', 1.5), (3, 'x', NULL)")
    run(session, "CREATE TABLE u (a INT, d STRING)")
    run(session, "INSERT INTO u VALUES (1, 'one'), (3, 'three'), (4, 'four')")
    session.close()
    return opened


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def rows(session: LakeSession, frame: DataFramePlan | str) -> list[tuple[Any, ...]]:
    result = session.execute(frame, StatementRequest(identity=Identity("ann")))
    try:
        table = pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


T = "SELECT * FROM t"
LOCAL = StructType([StructField("a", IntegerType()), StructField("n", StringType())])
U = "SELECT * FROM u"

ROWS: dict[str, tuple[MakeFrame, list[tuple[Any, ...]]]] = {
    "table": (lambda t: t.orderBy("a"), [(1, "x", 0.5), (2, "y", 1.5), (3, "x", None)]),
    "aggregate over filter": (
        lambda t: t.filter(t["a"] > 1).groupBy("b").agg(F.sum("a").alias("s")).orderBy("b"),
        [("x", 3), ("y", 2)],
    ),
    "select": (lambda t: t.select((t.a + 1).alias("n"), F.upper("b")).orderBy("n"), [(2, "X"), (3, "Y"), (4, "X")]),
    "operators": (
        lambda t: t.select((t.a * 2 - 1) % 3, (t.a == 1) | ~(t.b == "x"), -t.a, t.a.between(1, 2)).orderBy(t.a),
        [(1, True, -1, True), (0, True, -2, True), (2, False, -3, False)],
    ),
    "when and in": (
        lambda t: t.select(F.when(t.a == 1, "one").otherwise("many"), t.b.isin("x", "z")).orderBy(t.a),
        [("one", True), ("many", False), ("many", True)],
    ),
    "expression text": (lambda t: t.selectExpr("a * 2 AS n", "concat(b, '!')").orderBy("n"), [(2, "x!"), (4, "y!"), (6, "x!")]),
    "columns added": (lambda t: t.withColumn("n", t.a + 1).withColumnRenamed("b", "k").drop("c").orderBy("a"), [(1, "x", 2), (2, "y", 3), (3, "x", 4)]),
    "cast": (lambda t: t.select(t.a.cast("string"), t.a.cast("decimal(5,1)").cast("int")).orderBy(t.a), [("1", 1), ("2", 2), ("3", 3)]),
    "distinct": (lambda t: t.select("b").distinct().orderBy("b"), [("x",), ("y",)]),
    "duplicates by column": (lambda t: t.orderBy("a").dropDuplicates(["b"]).select("b").orderBy("b"), [("x",), ("y",)]),
    "limit and offset": (lambda t: t.orderBy("a").offset(1).limit(1).select("a"), [(2,)]),
    "tail": (lambda t: CLIENT.range(5), [(0,), (1,), (2,), (3,), (4,)]),
    "union by name": (lambda t: t.select("a", "b").unionByName(t.select("b", "a")).groupBy().count(), [(6,)]),
    "set operations": (lambda t: t.select("a").intersect(t.filter("a > 1").select("a")).subtract(t.filter("a > 2").select("a")), [(2,)]),
    "self-join with ids": (lambda t: _self_join(t), [(1, 3), (3, None)]),
    "group by with pivot": (lambda t: t.groupBy().pivot("b", ["x", "y"]).agg(F.sum("a")), [(4, 2)]),
    "rollup": (lambda t: t.rollup("b").count().orderBy(F.col("b").asc_nulls_last()), [("x", 2), ("y", 1), (None, 3)]),
    "window": (lambda t: t.select("a", F.row_number().over(_window())).orderBy("a"), [(1, 1), (2, 1), (3, 2)]),
    "lambda": (lambda t: t.select(F.transform(F.array("a", F.lit(5)), lambda x: x + 1)).orderBy("a"), [([2, 6],), ([3, 6],), ([4, 6],)]),
    "struct": (lambda t: t.select(F.struct("a", "b").alias("s")).select("s.a", F.col("s")["b"], F.col("s").getField("a")).orderBy("a"), [(1, "x", 1), (2, "y", 2), (3, "x", 3)]),
    "update fields": (lambda t: t.select(F.struct("a").alias("s")).select(F.col("s").withField("z", F.lit(1))).orderBy("s.a"), [({"a": 1, "z": 1},), ({"a": 2, "z": 1},), ({"a": 3, "z": 1},)]),
    "stars": (lambda t: t.select(t["*"], "*").limit(1).groupBy().count(), [(1,)]),
    "regex": (lambda t: t.select(t.colRegex("`[ab]`")).orderBy("a"), [(1, "x"), (2, "y"), (3, "x")]),
    "alias": (lambda t: t.alias("k").select("k.a", "k.*").groupBy().count(), [(3,)]),
    "nulls filled": (lambda t: t.fillna(9.0, ["c"]).select("a", "c").orderBy("a"), [(1, 0.5), (2, 1.5), (3, 9.0)]),
    "nulls dropped": (lambda t: t.dropna().select("a").orderBy("a"), [(1,), (2,)]),
    "values replaced": (lambda t: t.replace("x", "z", ["b"]).select("a", "b").orderBy("a"), [(1, "z"), (2, "y"), (3, "z")]),
    "columns renamed": (lambda t: t.toDF("p", "q", "r").select("p").orderBy("p"), [(1,), (2,), (3,)]),
    "hint": (lambda t: t.hint("broadcast").select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "repartition": (lambda t: t.repartition(2, "b").coalesce(1).select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "unpivot": (lambda t: t.select("a", "c").unpivot("a", ["c"], "n", "v").orderBy("a"), [(1, "c", 0.5), (2, "c", 1.5), (3, "c", None)]),
    "local relation": (lambda t: t.join(CLIENT.createDataFrame([(1, "p"), (2, None)], LOCAL), "a").select("a", "n").orderBy("a"), [(1, "p"), (2, None)]),
    "scalar subquery": (lambda t: t.filter(t.a == t.select(F.max("a")).scalar()).select("a"), [(3,)]),
    "exists": (lambda t: t.where(t.alias("o").where(F.col("o.a") == F.col("a").outer()).exists()).groupBy().count(), [(3,)]),
    "table function": (lambda t: CLIENT.tvf.explode(F.array(F.lit(1), F.lit(2))), [(1,), (2,)]),
    "lateral join": (lambda t: t.lateralJoin(CLIENT.tvf.explode(F.array(F.col("a").outer(), F.lit(0)))).groupBy().agg(F.sum("col")), [(6,)]),
    "sample by": (lambda t: t.sampleBy("b", {"x": 1.0}, 0).select("a").orderBy("a"), [(1,), (3,)]),
    "sample": (lambda t: t.sample(1.0).select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "explode": (lambda t: t.select(F.explode(F.array("a", "a"))).groupBy().count(), [(6,)]),
    "call function": (lambda t: t.select(F.call_function("abs", -t.a)).orderBy("a"), [(1,), (2,), (3,)]),
    "summary": (lambda t: t.select("a").summary("count", "max"), [("count", "3"), ("max", "3")]),
    "describe": (lambda t: t.describe("a").filter("summary = 'min'"), [("min", "1")]),
    "to schema": (lambda t: t.select("a").to(_schema()).orderBy("a"), [(1,), (2,), (3,)]),
    "duplicate names": (lambda t: t.select("a", "a").orderBy(t.a), [(1, 1), (2, 2), (3, 3)]),
}  # fmt: skip


def _self_join(t: Any) -> Any:
    other = t.filter(t["a"] > 1).select((F.col("a") - 2).alias("a"), F.col("a").alias("b"))
    x = t.filter(t["b"] == "x")
    return x.join(other, x["a"] == other["a"], "left").select(x["a"], other["b"]).orderBy(x["a"])


def _window() -> Any:
    from pyspark.sql.connect.window import Window

    return Window.partitionBy("b").orderBy("a")


def _schema() -> Any:
    return StructType([StructField("a", LongType())])


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_dataframe(session: LakeSession, name: str) -> None:
    make, expected = ROWS[name]
    assert rows(session, plan(make(input_table()), T)) == expected
