"""DataFrame plans as queries: rows, names, and analysis over their inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.connect.window import Window
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from catalog.errors import Position, SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.dataframe import DataFramePlan, PlanInput
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.statement import Statement
from engine.spark.session import SparkDriver
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.source_text import GeneratedText
from engine.sql.query.values import ExplainMode
from engine.statements.describe.statement import DescribeQuery
from engine.statements.explain.statement import Explain
from engine.statements.views.statement import create_dataframe_view
from tests.engine.connect_plans import CLIENT, F, MakeFrame, input_table, plan
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    opened = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    session = opened.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE t (a INT, b STRING, c DOUBLE)")
    run(session, "INSERT INTO t VALUES (1, 'x', 0.5), (2, 'y', 1.5), (3, 'x', NULL)")
    run(session, "CREATE TABLE u (a INT, d STRING)")
    run(session, "INSERT INTO u VALUES (1, 'one'), (3, 'three'), (4, 'four')")
    run(session, "CREATE VIEW kept AS SELECT max(a) AS a FROM u")
    run(session, "CREATE FUNCTION plus(x INT, y INT) RETURNS INT RETURN x + y")
    run(session, "CREATE TABLE changing TBLPROPERTIES (delta.enableChangeDataFeed = true) AS SELECT * FROM range(2)")
    session.close()
    return opened


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def _input(text: str, *parameters: Parameter) -> PlanInput:
    return PlanInput(name="gateway_input_0", text=text, parameters=parameters)


def condition(session: LakeSession, frame: DataFramePlan | str) -> str:
    with pytest.raises(SqlError) as caught:
        rows(session, frame)
    return caught.value.condition


def create(session: LakeSession, name: str, frame: DataFramePlan) -> None:
    statement_rows(session, create_dataframe_view((name,), frame, or_replace=True))


def statement_rows(session: LakeSession, statement: Statement) -> list[tuple[Any, ...]]:
    result = session.run(statement, StatementRequest(identity=Identity("ann")))
    try:
        return [row for batch in result.batches() for row in zip(*map(pa.Array.to_pylist, batch.columns), strict=True)]
    finally:
        result.close()


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
    "expression text": (
        lambda t: t.selectExpr("a * 2 AS n", "concat(b, '!')").orderBy("n"),
        [(2, "x!"), (4, "y!"), (6, "x!")],
    ),
    "columns added": (
        lambda t: t.withColumn("n", t.a + 1).withColumnRenamed("b", "k").drop("c").orderBy("a"),
        [(1, "x", 2), (2, "y", 3), (3, "x", 4)],
    ),
    "cast": (
        lambda t: t.select(t.a.cast("string"), t.a.cast("decimal(5,1)").cast("int")).orderBy(t.a),
        [("1", 1), ("2", 2), ("3", 3)],
    ),
    "distinct": (lambda t: t.select("b").distinct().orderBy("b"), [("x",), ("y",)]),
    "duplicates by column": (lambda t: t.orderBy("a").dropDuplicates(["b"]).select("b").orderBy("b"), [("x",), ("y",)]),
    "limit and offset": (lambda t: t.orderBy("a").offset(1).limit(1).select("a"), [(2,)]),
    "range": (lambda t: CLIENT.range(3), [(0,), (1,), (2,)]),
    "union by name": (lambda t: t.select("a", "b").unionByName(t.select("b", "a")).groupBy().count(), [(6,)]),
    "set operations": (
        lambda t: t.select("a").intersect(t.filter("a > 1").select("a")).subtract(t.filter("a > 2").select("a")),
        [(2,)],
    ),
    "self-join with ids": (lambda t: _self_join(t), [(1, 3), (3, None)]),
    "group by with pivot": (lambda t: t.groupBy().pivot("b", ["x", "y"]).agg(F.sum("a")), [(4, 2)]),
    "rollup": (lambda t: t.rollup("b").count().orderBy(F.col("b").asc_nulls_last()), [("x", 2), ("y", 1), (None, 3)]),
    "window": (lambda t: t.select("a", F.row_number().over(_window())).orderBy("a"), [(1, 1), (2, 1), (3, 2)]),
    "lambda": (
        lambda t: t.select(F.transform(F.array("a", F.lit(5)), lambda x: x + 1)).orderBy("a"),
        [([2, 6],), ([3, 6],), ([4, 6],)],
    ),
    "struct": (
        lambda t: (
            t.select(F.struct("a", "b").alias("s"))
            .select("s.a", F.col("s")["b"], F.col("s").getField("a"))
            .orderBy("a")
        ),
        [(1, "x", 1), (2, "y", 2), (3, "x", 3)],
    ),
    "update fields": (
        lambda t: t.select(F.struct("a").alias("s")).select(F.col("s").withField("z", F.lit(1))).orderBy("s.a"),
        [({"a": 1, "z": 1},), ({"a": 2, "z": 1},), ({"a": 3, "z": 1},)],
    ),
    "stars": (lambda t: t.select(t["*"], "*").limit(1).groupBy().count(), [(1,)]),
    "regex": (lambda t: t.select(t.colRegex("`[ab]`")).orderBy("a"), [(1, "x"), (2, "y"), (3, "x")]),
    "alias": (lambda t: t.alias("k").select("k.a", "k.*").groupBy().count(), [(3,)]),
    "nulls filled": (lambda t: t.fillna(9.0, ["c"]).select("a", "c").orderBy("a"), [(1, 0.5), (2, 1.5), (3, 9.0)]),
    "nulls dropped": (lambda t: t.dropna().select("a").orderBy("a"), [(1,), (2,)]),
    "values replaced": (
        lambda t: t.replace("x", "z", ["b"]).select("a", "b").orderBy("a"),
        [(1, "z"), (2, "y"), (3, "z")],
    ),
    "columns renamed": (lambda t: t.toDF("p", "q", "r").select("p").orderBy("p"), [(1,), (2,), (3,)]),
    "hint": (lambda t: t.hint("broadcast").select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "repartition": (lambda t: t.repartition(2, "b").coalesce(1).select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "unpivot": (
        lambda t: t.select("a", "c").unpivot("a", ["c"], "n", "v").orderBy("a"),
        [(1, "c", 0.5), (2, "c", 1.5), (3, "c", None)],
    ),
    "local relation": (
        lambda t: t.join(CLIENT.createDataFrame([(1, "p"), (2, None)], LOCAL), "a").select("a", "n").orderBy("a"),
        [(1, "p"), (2, None)],
    ),
    "scalar subquery": (lambda t: t.filter(t.a == t.select(F.max("a")).scalar()).select("a"), [(3,)]),
    "exists": (
        lambda t: t.where(t.alias("o").where(F.col("o.a") == F.col("a").outer()).exists()).groupBy().count(),
        [(3,)],
    ),
    "table function": (lambda t: CLIENT.tvf.explode(F.array(F.lit(1), F.lit(2))), [(1,), (2,)]),
    "lateral join": (
        lambda t: t.lateralJoin(CLIENT.tvf.explode(F.array(F.col("a").outer(), F.lit(0)))).groupBy().agg(F.sum("col")),
        [(6,)],
    ),
    "sample": (lambda t: t.sample(1.0).select("a").orderBy("a"), [(1,), (2,), (3,)]),
    "explode": (lambda t: t.select(F.explode(F.array("a", "a"))).groupBy().count(), [(6,)]),
    "call function": (lambda t: t.select(F.call_function("abs", -t.a)).orderBy("a"), [(1,), (2,), (3,)]),
    "summary": (lambda t: t.select("a").summary("count", "max"), [("count", "3"), ("max", "3")]),
    "describe": (lambda t: t.describe("a").filter("summary = 'min'"), [("min", "1")]),
    "to schema": (lambda t: t.select("a").to(_schema()).orderBy("a"), [(1,), (2,), (3,)]),
    "duplicate names": (lambda t: t.select("a", "a").orderBy(t.a), [(1, 1), (2, 2), (3, 3)]),
}


def _self_join(t: Any) -> Any:
    other = t.filter(t["a"] > 1).select((F.col("a") - 2).alias("a"), F.col("a").alias("b"))
    x = t.filter(t["b"] == "x")
    return x.join(other, x["a"] == other["a"], "left").select(x["a"], other["b"]).orderBy(x["a"])


def _window() -> Any:
    return Window.partitionBy("b").orderBy("a")


def _schema() -> Any:
    return StructType([StructField("a", LongType())])


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_dataframe(session: LakeSession, name: str) -> None:
    make, expected = ROWS[name]
    assert rows(session, plan(make(input_table()), T)) == expected


def test_columns_of_a_join_are_found_by_the_ids_of_their_dataframes(session: LakeSession) -> None:
    t, u = input_table(0), input_table(1)
    joined = (
        t.join(u, t["a"] == u["a"], "full")
        .select(t["a"], u["a"].alias("other"), u["d"])
        .orderBy(F.coalesce(t["a"], u["a"]))
    )
    assert rows(session, plan(joined, T, U)) == [
        (1, 1, "one"),
        (2, None, None),
        (3, 3, "three"),
        (None, 4, "four"),
    ]


INPUTS: dict[str, tuple[str | PlanInput, list[tuple[Any, ...]]]] = {
    "query": ("SELECT a, count(*) AS n FROM t JOIN u USING (a) GROUP BY a", [(1, 1), (3, 1)]),
    "common table expression": ("WITH k AS (SELECT * FROM u), l AS (TABLE k) SELECT a FROM l", [(1,), (3,), (4,)]),
    "time travel": ("SELECT * FROM t VERSION AS OF 0", []),
    "path": ("SELECT a FROM delta.`{lake}/default/u`", [(1,), (3,), (4,)]),
    "named marker": (
        _input("SELECT a FROM u WHERE a > :low", Parameter(name="low", value="2", sql_type="int")),
        [(3,), (4,)],
    ),
    "markers": (
        _input("SELECT a, ? FROM u WHERE a > ?", Parameter(value="x"), Parameter(value="3", sql_type="int")),
        [(4, "x")],
    ),
    "temporary view": ("SELECT * FROM v", [(7,)]),
    "catalog view": ("SELECT * FROM kept", [(4,)]),
    "catalog function": ("SELECT plus(a, 1) AS n FROM u", [(2,), (4,), (5,)]),
    "temporary function": ("SELECT less(a, 1) AS n FROM u", [(0,), (2,), (3,)]),
    "file metadata": ("SELECT _metadata.file_name IS NOT NULL, a FROM u", [(True, 1), (True, 3), (True, 4)]),
    "changes": ("SELECT count(*) FROM table_changes('changing', 0)", [(2,)]),
    "table function": ("SELECT * FROM range(2)", [(0,), (1,)]),
    "information schema": ("SELECT table_name FROM information_schema.tables WHERE table_name = 'u'", [("u",)]),
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_reads_what_its_text_reads(session: LakeSession, lake: Path, name: str) -> None:
    given, expected = INPUTS[name]
    run(session, "CREATE TEMPORARY VIEW v AS SELECT 7 AS a")
    run(session, "CREATE TEMPORARY FUNCTION less(x INT, y INT) RETURNS INT RETURN x - y")
    given = given.format(lake=lake) if isinstance(given, str) else given
    assert sorted(rows(session, plan(input_table(), given))) == expected


@pytest.mark.parametrize("qualifier", ["t", "default.t", "main.default.t"])
def test_alias_qualifies_columns_of_an_input(session: LakeSession, qualifier: str) -> None:
    given = PlanInput(name="gateway_input_0", text=T, alias=("main", "default", "t"))
    t = input_table()
    assert rows(session, plan(t.select(f"{qualifier}.a", t["b"]).orderBy("a"), given)) == [(1, "x"), (2, "y"), (3, "x")]


def test_input_names_dataframes_of_its_own(session: LakeSession) -> None:
    inner = plan(input_table().filter("a > 2"), T)
    given = PlanInput(
        name="gateway_input_0", text="SELECT x.a, y.a FROM x JOIN x AS y USING (a)", frames=(("x", inner),)
    )
    assert rows(session, plan(input_table(), given)) == [(3, 3)]


def test_statement_that_is_no_query_is_no_input(session: LakeSession) -> None:
    assert condition(session, plan(input_table(), "DROP TABLE t")) == "UNSUPPORTED_FEATURE.STATEMENT"
    assert condition(session, plan(input_table(), "SHOW TABLES")) == "UNSUPPORTED_FEATURE.STATEMENT"
    assert rows(session, plan(input_table().groupBy().count(), T)) == [(3,)]


def test_dataframe_is_described_and_explained_without_a_run(session: LakeSession) -> None:
    frame = dataframe_query(plan(input_table().select("a", F.upper("b").alias("k")), T))
    assert statement_rows(session, DescribeQuery(inner=frame)) == [("a", "int", None), ("k", "string", None)]
    ((text,),) = statement_rows(session, Explain(mode=ExplainMode.FORMATTED, inner=frame))
    assert "upper(b" in text and "== Tables ==" in text, text[-600:]


def test_error_in_a_dataframe_names_the_column(session: LakeSession) -> None:
    assert condition(session, plan(input_table().select("nothing"), T)) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert condition(session, plan(input_table(), "SELECT nothing FROM t")) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert condition(session, plan(input_table(), "SELECT * FROM nothing")) == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.parametrize(
    ("expression", "condition", "column"),
    [("a + nope", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 5), ("a, ", "PARSE_SYNTAX_ERROR", 2), ("1 / (a - 2)", None, 1)],
)
def test_error_in_an_expression_has_its_position_there(
    session: LakeSession, expression: str, condition: str | None, column: int
) -> None:
    frame = plan(input_table().select(F.expr(expression)), "SELECT * FROM t")
    with pytest.raises(SqlError) as caught:
        rows(session, replace(frame, expressions=(expression,)))
    assert caught.value.condition == (condition or "DIVIDE_BY_ZERO")
    excerpt = f"{expression}\n{' ' * (column - 1)}^"
    assert caught.value.position == Position(line=1, column=column, excerpt=excerpt)


def test_runtime_error_in_an_input_has_its_position_there(session: LakeSession) -> None:
    frame = plan(input_table().filter("x > 0"), "SELECT a,\n 1 / (a - 2) AS x FROM t")
    position = Position(line=2, column=2, excerpt=" 1 / (a - 2) AS x FROM t\n ^")
    with pytest.raises(SqlError) as caught:
        rows(session, frame)
    assert (caught.value.condition, caught.value.position) == ("DIVIDE_BY_ZERO", position)
    create(session, "fractions", frame)
    with pytest.raises(SqlError) as caught:
        rows(session, "SELECT x FROM fractions")
    assert caught.value.position == replace(position, view="`system`.`session`.`fractions`")


def test_error_in_a_generated_input_has_no_position(session: LakeSession) -> None:
    for text, position in (
        ("SELECT * FROM missing", Position(line=1, column=15, excerpt="SELECT * FROM missing\n              ^")),
        (GeneratedText("SELECT * FROM missing"), None),
    ):
        with pytest.raises(SqlError) as caught:
            rows(session, text)
        assert (caught.value.condition, caught.value.position) == ("TABLE_OR_VIEW_NOT_FOUND", position)


def test_temporary_view_over_a_dataframe_is_read_by_sql(session: LakeSession) -> None:
    create(session, "w", plan(input_table().filter("a > 1").select("a", "b"), T))
    assert rows(session, "SELECT w.a, count(*) FROM w JOIN t USING (a) GROUP BY 1 ORDER BY 1") == [(2, 1), (3, 1)]
    assert rows(session, "DESCRIBE w") == [("a", "int", None), ("b", "string", None)]
    assert rows(session, plan(input_table().agg(F.max("a")), "SELECT * FROM w")) == [(3,)]
    create(session, "w", plan(CLIENT.range(2)))
    assert rows(session, "SELECT id FROM w ORDER BY id") == [(0,), (1,)]
    run(session, "DROP VIEW w")
    assert condition(session, "SELECT * FROM w") == "TABLE_OR_VIEW_NOT_FOUND"


def test_view_reads_the_views_that_it_was_made_of(session: LakeSession) -> None:
    run(session, "CREATE TEMPORARY VIEW w AS SELECT 5 AS n")
    create(session, "w", plan(input_table().select((F.col("n") + 1).alias("n")), "SELECT * FROM w"))
    create(session, "w", plan(input_table().select((F.col("n") * 10).alias("n")), "SELECT * FROM w"))
    assert rows(session, "SELECT n FROM w") == [(60,)]


def test_view_over_a_dataframe_is_the_source_of_writes(session: LakeSession) -> None:
    create(session, "w", plan(input_table().select("a", F.concat("b", F.lit("!")).alias("d")), T))
    run(session, "CREATE OR REPLACE TABLE target AS SELECT * FROM w WHERE a < 3")
    run(session, "INSERT INTO target SELECT a + 10, d FROM w")
    matched = "WHEN MATCHED THEN UPDATE SET d = 'merged' WHEN NOT MATCHED THEN INSERT *"
    run(session, f"MERGE INTO target USING w ON target.a = w.a {matched}")
    assert rows(session, "SELECT a, d FROM target ORDER BY a") == [
        (1, "merged"),
        (2, "merged"),
        (3, "x!"),
        (11, "x!"),
        (12, "y!"),
        (13, "x!"),
    ]


def test_view_over_a_dataframe_reads_newest_versions(session: LakeSession) -> None:
    run(session, "CREATE OR REPLACE TABLE growing AS SELECT 1 AS a")
    create(session, "w", plan(input_table(), "SELECT * FROM growing"))
    run(session, "INSERT INTO growing VALUES (2)")
    assert rows(session, "SELECT a FROM w ORDER BY a") == [(1,), (2,)]


def test_definition_of_a_view_over_a_dataframe_is_described(session: LakeSession) -> None:
    create(session, "w", plan(input_table(), T))
    assert ("View Text", "DataFrame: Test", "") in rows(session, "DESCRIBE EXTENDED w")
    assert condition(session, "SHOW CREATE TABLE w") == "UNSUPPORTED_FEATURE.STATEMENT"
    run(session, "ALTER VIEW w RENAME TO x")
    assert rows(session, "SELECT max(a) FROM x") == [(3,)]
    run(session, "ALTER VIEW x AS SELECT 9 AS a")
    assert rows(session, "SELECT max(a) FROM x") == [(9,)]


def test_catalog_view_does_not_stand_on_a_dataframe(session: LakeSession) -> None:
    create(session, "w", plan(input_table(), T))
    assert condition(session, "CREATE VIEW stored AS SELECT * FROM w") == "INVALID_TEMP_OBJ_REFERENCE"


def test_equal_plans_over_other_inputs_have_their_own_rows(session: LakeSession) -> None:
    frame = input_table().select("a").orderBy("a")
    assert [rows(session, plan(frame, text)) for text in (T, U, T)] == [
        [(1,), (2,), (3,)],
        [(1,), (3,), (4,)],
        [(1,), (2,), (3,)],
    ]


def test_session_with_a_view_over_a_dataframe_continues_in_another_process(
    engine: LakeEngine, session: LakeSession
) -> None:
    low = PlanInput(
        name="gateway_input_0",
        text="SELECT * FROM v WHERE a > :low",
        alias=("v",),
        parameters=(Parameter(name="low", value="1", sql_type="int"),),
    )
    create(session, "v", plan(input_table().select("a"), GeneratedText(T)))
    create(session, "w", replace(plan(input_table().select("v.a").orderBy("a"), low), expressions=("a",)))
    run(session, "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 0 AS a")
    saved = json.loads(json.dumps(session.saved_state()))
    assert saved["temporary_views"][-1]["frame"]["plan"]["expressions"] == ["a"]
    restored = engine.restore_session(Identity("ann"), saved)
    assert rows(restored, "SELECT * FROM w") == [(2,), (3,)] == rows(session, "SELECT * FROM w")
    assert json.loads(json.dumps(restored.saved_state())) == saved


def test_plan_with_many_local_rows_is_limited(session: LakeSession) -> None:
    size = 300_000
    wide = pa.table({"a": pa.array(range(size), pa.int64()), "b": pa.array(["x" * 60] * size)})
    large = plan(CLIENT.createDataFrame(wide).groupBy().agg(F.count("*"), F.max("a")))
    assert len(large.plan) > 20 << 20
    assert rows(session, large) == [(size, size - 1)]
    twice = plan(CLIENT.createDataFrame(wide).union(CLIENT.createDataFrame(wide)))
    assert condition(session, twice) == "LOCAL_RELATION_SIZE_LIMIT_EXCEEDED"


def test_random_splits_are_disjoint_and_complete(session: LakeSession) -> None:
    parts = input_table().repartition(3).randomSplit([0.4, 0.6], seed=5)
    split = [sorted(rows(session, plan(part, "SELECT id, id % 7 AS k FROM range(100)"))) for part in parts]
    assert 0 < len(split[0]) < 100
    assert sorted(split[0] + split[1]) == [(number, number % 7) for number in range(100)]


def test_writes_name_the_tables_of_a_dataframe_as_their_sources(session: LakeSession) -> None:
    create(session, "w", plan(input_table(0).join(input_table(1), "a").select("a", "d"), T, U))
    run(session, "CREATE TABLE derived AS SELECT * FROM w")
    found = rows(
        session, "SELECT source_table_name FROM system.access.table_lineage WHERE target_table_name = 'derived'"
    )
    assert sorted(found) == [("t",), ("u",)]


def test_view_is_joined_with_the_dataframe_that_it_was_made_of(session: LakeSession) -> None:
    t = input_table(0)
    large = t.filter(t["a"] > 1)
    create(session, "w", plan(large, T))
    w = input_table(1)
    joined = w.join(large, w["a"] == large["a"]).select(large["a"], w["b"]).orderBy(large["a"])
    assert rows(session, plan(joined, T, "SELECT * FROM w")) == [(2, "y"), (3, "x")]
