"""The guard on Spark's own plans, without `engine/sql`'s parser: accepted and rejected plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.conditions import FunctionNotAvailable, PlanRefused, RelationNotBound
from catalog.errors import SqlError
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.sql.query.values import ExplainMode
from engine.tables.scan import Scan
from tests.engine.spark.scans import DataFile, query, write_scan

pytestmark = pytest.mark.spark


@pytest.fixture
def sales(tmp_path: Path) -> Scan:
    return write_scan(
        tmp_path / "sales",
        {"id": "long", "name": "string", "tags": {"type": "array", "elementType": "string", "containsNull": True}},
        [DataFile(path="a.parquet", columns={"id": [1, 2], "name": ["a", "b"], "tags": [["x"], ["y", "z"]]})],
    )


QUERIES = {
    "no from": "SELECT 1, current_date(), current_user, 'a' || 'b'",
    "star": "SELECT * FROM __scan_0",
    "any case, quoted": "SELECT * FROM `__SCAN_0` AS s WHERE s.id > 0",
    "joins": "SELECT * FROM __scan_0 a JOIN __scan_0 b USING (id) LEFT ANTI JOIN __scan_0 c ON a.id = c.id + 9",
    "natural and cross": "SELECT * FROM __scan_0 NATURAL JOIN __scan_0 b CROSS JOIN __scan_0 c",
    "lateral subquery": "SELECT * FROM __scan_0 s, LATERAL (SELECT s.id + 1 AS next)",
    "lateral view": "SELECT id, tag FROM __scan_0 LATERAL VIEW OUTER explode(tags) t AS tag",
    "table function": "SELECT * FROM range(3), explode(array(1, 2))",
    "lateral table function": "SELECT * FROM __scan_0, LATERAL explode(tags)",
    "values": "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)",
    "values with expressions": "VALUES (1 + 1, upper('a'))",
    "set operations": "SELECT id FROM __scan_0 UNION ALL SELECT 1 INTERSECT SELECT 2 EXCEPT ALL SELECT 3",
    "aggregate": "SELECT name, count(DISTINCT id) FILTER (WHERE id > 0) FROM __scan_0 GROUP BY ALL HAVING max(id) > 0",
    "cube": "SELECT name, id, grouping_id() FROM __scan_0 GROUP BY CUBE (name, id)",
    "grouping sets": "SELECT name, count(*) FROM __scan_0 GROUP BY GROUPING SETS ((name), ())",
    "within group": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM __scan_0",
    "windows": "SELECT sum(id) OVER w, row_number() OVER (PARTITION BY name ORDER BY id) FROM __scan_0 "
    "WINDOW w AS (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "qualify": "SELECT id FROM __scan_0 QUALIFY row_number() OVER (ORDER BY id) = 1",
    "order, limit, offset": "SELECT id FROM __scan_0 ORDER BY ALL LIMIT 1 OFFSET 1",
    "distribute and sort": "SELECT id FROM __scan_0 DISTRIBUTE BY id SORT BY id",
    "subqueries": "SELECT (SELECT max(id) FROM __scan_0), EXISTS (SELECT 1), id IN (SELECT 1) FROM __scan_0",
    "correlated": "SELECT * FROM __scan_0 s WHERE id = (SELECT max(id) FROM __scan_0 i WHERE i.name = s.name)",
    "cte": "WITH a AS (SELECT id FROM __scan_0), b AS (SELECT * FROM a) SELECT * FROM b JOIN a USING (id)",
    "cte shadows": "WITH __scan_0 AS (SELECT 1 AS one) SELECT one FROM __scan_0",
    "nested cte": "SELECT * FROM (WITH a AS (WITH b AS (SELECT 1 AS x) SELECT * FROM b) SELECT * FROM a)",
    "cte in a subquery": "SELECT (WITH a AS (SELECT max(id) AS m FROM __scan_0) SELECT m FROM a)",
    "recursive cte": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
    "cte column names": "WITH a(x, y) AS (SELECT id, name FROM __scan_0) SELECT x FROM a",
    "pivot": "SELECT * FROM (SELECT id, name FROM __scan_0) PIVOT (sum(id) FOR name IN ('a', 'b'))",
    "unpivot": "SELECT * FROM (SELECT id, id + 1 AS id2 FROM __scan_0) UNPIVOT (v FOR k IN (id, id2))",
    "sample": "SELECT * FROM __scan_0 TABLESAMPLE (50 PERCENT) REPEATABLE (1)",
    "hint": "SELECT /*+ BROADCAST(b), REPARTITION(2) */ * FROM __scan_0 a JOIN __scan_0 b USING (id)",
    "lambda": "SELECT transform(tags, t -> upper(t)), aggregate(array(1, 2), 0, (a, b) -> a + b) FROM __scan_0",
    "casts and keywords": "SELECT CAST('1' AS int), '2'::int, EXTRACT(YEAR FROM current_date), "
    "TRIM(BOTH 'x' FROM 'xax'), SUBSTRING('abc' FROM 2), POSITION('b' IN 'abc'), OVERLAY('abc' PLACING 'x' FROM 1), "
    "TRY_CAST('x' AS int), INTERVAL 1 DAY, DATE '2024-01-01', TIMESTAMPADD(DAY, 1, current_timestamp), "
    "DATEDIFF(DAY, current_date, current_date)",
    "predicates": "SELECT 'a' LIKE ANY ('a', 'b'), 'a' RLIKE 'a', 1 BETWEEN 0 AND 2, 1 IS DISTINCT FROM 2, "
    "CASE WHEN true THEN 1 ELSE 2 END, IF(true, 1, 2), coalesce(null, 1), 1 <=> null",
    "stars": "SELECT * EXCEPT (name), s.* FROM __scan_0 s",
    "struct access": "SELECT named_struct('a', 1).a, map('k', 1)['k'], array(1)[0], parse_json('{\"a\": 1}'):a::int",
    "generators": "SELECT explode(tags), id FROM __scan_0",
    "collation": "SELECT 'a' COLLATE UTF8_LCASE = 'A'",
    "named window": "SELECT sum(id) OVER w FROM __scan_0 WINDOW w AS (PARTITION BY (SELECT max(id) FROM __scan_0))",
    "pipe that sets": "FROM __scan_0 |> SET id = (SELECT max(id) FROM __scan_0), name = upper(name)",
    "arguments of replaced functions": "SELECT try_add(rand(), 1), id FROM __scan_0 ORDER BY nvl(rand(), 1)",
    "table": "TABLE __scan_0",
    "from first": "FROM __scan_0 SELECT id",
    "pipes": "FROM __scan_0 |> WHERE id > 1 |> AGGREGATE sum(id) AS s GROUP BY name |> ORDER BY s |> LIMIT 1",
    "pipes that extend": "FROM __scan_0 |> EXTEND id + 1 AS next |> SET id = 2 |> DROP name |> AS t |> SELECT t.next",
    "nearest": "SELECT * FROM __scan_0 a LEFT JOIN __scan_0 b APPROX NEAREST 2 BY DISTANCE abs(a.id - b.id)",
    "exact nearest": "SELECT * FROM __scan_0 a JOIN __scan_0 b EXACT NEAREST BY SIMILARITY -abs(a.id - b.id)",
    "replaced function in having": "SELECT sum(id) FROM __scan_0 HAVING avg(try_add(id, 1)) > 0",
    "replaced function in order": "SELECT name FROM __scan_0 GROUP BY name ORDER BY max(try_add(id, 1)), nvl(name, '')",
    "replaced functions in qualify": "SELECT id FROM __scan_0 QUALIFY count(nvl(id, 0)) OVER () > 0",
    "built in": "SELECT builtin.abs(-1), system.builtin.upper('a'), SYSTEM.BuiltIn.count(*) FROM builtin.range(3)",
    "approximate": "SELECT approx_count_distinct(id), percentile(id, 0.5), collect_list(struct(id)) FROM __scan_0",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_lets_queries_run(spark: ExecSession, sales: Scan, text: str) -> None:
    query(spark, text, sales)


PLACES = {
    "from": "SELECT * FROM {it}",
    "join": "SELECT * FROM __scan_0 JOIN {it} USING (id)",
    "cte": "WITH a AS (SELECT * FROM {it}) SELECT * FROM a",
    "unused cte": "WITH a AS (SELECT * FROM {it}) SELECT 1",
    "nested cte in a subquery": "SELECT (WITH a AS (WITH b AS (SELECT * FROM {it}) SELECT * FROM b) SELECT id FROM a)",
    "scalar subquery": "SELECT (SELECT max(id) FROM {it})",
    "exists": "SELECT 1 WHERE EXISTS (SELECT 1 FROM {it})",
    "in": "SELECT 1 WHERE 1 IN (SELECT id FROM {it})",
    "lateral": "SELECT * FROM __scan_0, LATERAL (SELECT * FROM {it})",
    "set operation": "SELECT id FROM __scan_0 UNION ALL SELECT id FROM {it}",
    "named window": "SELECT sum(id) OVER w FROM __scan_0 WINDOW w AS (PARTITION BY (SELECT max(id) FROM {it}))",
    "window": "SELECT sum(id) OVER (ORDER BY (SELECT max(id) FROM {it})) FROM __scan_0",
    "values": "SELECT * FROM VALUES ((SELECT max(id) FROM {it}))",
    "limit": "SELECT id FROM __scan_0 LIMIT (SELECT max(id) FROM {it})",
    "order by": "SELECT id FROM __scan_0 ORDER BY (SELECT max(id) FROM {it})",
    "group by": "SELECT 1 FROM __scan_0 GROUP BY (SELECT max(id) FROM {it})",
    "having": "SELECT 1 FROM __scan_0 GROUP BY id HAVING max(id) > (SELECT max(id) FROM {it})",
    "function argument": "SELECT upper((SELECT max(id) FROM {it}))",
    "table function argument": "SELECT * FROM range((SELECT max(id) FROM {it}))",
    "pivot": "SELECT * FROM {it} PIVOT (sum(id) FOR name IN ('a'))",
    "pivot value": "SELECT * FROM __scan_0 PIVOT (sum(id) FOR name IN ((SELECT max(name) FROM {it})))",
    "filter clause": "SELECT count(*) FILTER (WHERE id IN (SELECT id FROM {it})) FROM __scan_0",
    "join condition": "SELECT * FROM __scan_0 a JOIN __scan_0 b ON a.id IN (SELECT id FROM {it})",
    "lambda": "SELECT transform(tags, t -> (SELECT max(id) FROM {it})) FROM __scan_0",
    "table": "TABLE {it}",
    "from first": "FROM {it} SELECT *",
    "pipe": "FROM __scan_0 |> JOIN {it} USING (id)",
    "nearest": "SELECT * FROM __scan_0 a JOIN {it} b APPROX NEAREST BY DISTANCE 1",
    "nearness": "SELECT * FROM __scan_0 a JOIN __scan_0 b EXACT NEAREST BY DISTANCE (SELECT max(id) FROM {it})",
    "replaced function": "SELECT sum(id) FROM __scan_0 HAVING avg(try_add((SELECT max(id) FROM {it}), 1)) > 0",
    "sample": "SELECT * FROM {it} TABLESAMPLE (1 ROWS)",
    "qualify": "SELECT id FROM __scan_0 QUALIFY row_number() OVER (ORDER BY (SELECT max(id) FROM {it})) = 1",
    "star except": "SELECT * EXCEPT (id), (SELECT max(id) FROM {it}) FROM __scan_0",
}
RELATIONS = ("parquet.`{folder}`", "csv.`{folder}`", "json.`/etc/passwd`", "text.`{folder}`", "other", "default.other",
             "spark_catalog.default.other", "global_temp.other", "__scan_1", "default.__scan_0", "`a.b`")  # fmt: skip


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_refuses_a_path_wherever_it_stands(spark: ExecSession, sales: Scan, place: str) -> None:
    with pytest.raises(RelationNotBound, match="parquet"):
        query(spark, place.format(it=f"parquet.`{sales.table_root}`"), sales)


@pytest.mark.parametrize("relation", RELATIONS)
def test_refuses_relations_that_were_not_bound(spark: ExecSession, sales: Scan, relation: str) -> None:
    with pytest.raises(RelationNotBound):
        query(spark, f"SELECT * FROM {relation.format(folder=sales.table_root)}", sales)


FUNCTIONS = {
    "reflect": "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "java_method": "SELECT java_method('java.util.UUID', 'randomUUID')",
    "try_reflect": "SELECT try_reflect('java.lang.System', 'getenv', 'HOME')",
    "in a cte": "WITH a AS (SELECT reflect('java.lang.System', 'getenv', 'HOME') AS h) SELECT * FROM a",
    "in a subquery": "SELECT 1 WHERE EXISTS (SELECT reflect('java.lang.System', 'getenv', 'HOME'))",
    "in a lambda": "SELECT transform(tags, t -> reflect('java.lang.System', 'getenv', t)) FROM __scan_0",
    "in values": "SELECT * FROM VALUES (reflect('java.lang.System', 'getenv', 'HOME'))",
    "in a named window": "SELECT sum(id) OVER w FROM __scan_0 WINDOW w AS (ORDER BY reflect('a', 'b'))",
    "qualified": "SELECT system.builtin.reflect('java.lang.System', 'getenv', 'HOME')",
    "qualified harmless one": "SELECT spark_catalog.default.upper('a')",
    "qualified by its schema alone": "SELECT builtin.reflect('java.lang.System', 'getenv', 'HOME')",
    "another system": "SELECT other.builtin.abs(1)",
    "quoted": "SELECT `reflect`('java.lang.System', 'getenv', 'HOME')",
    "unknown": "SELECT no_such_function(1)",
    "unknown table function": "SELECT * FROM no_such_function(1)",
    "files": "SELECT * FROM read_files('/etc')",
    "python logs": "SELECT * FROM python_worker_logs()",
    "scalar as table function": "SELECT * FROM reflect('java.lang.System', 'getenv', 'HOME')",
    "lateral view": "SELECT * FROM __scan_0 LATERAL VIEW reflect('a', 'b') t",
}


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_refuses_functions_that_are_not_listed(spark: ExecSession, sales: Scan, text: str) -> None:
    with pytest.raises(FunctionNotAvailable):
        query(spark, text, sales)


STATEMENTS = (
    "ADD JAR '/tmp/x.jar'",
    "ADD FILE '/etc/passwd'",
    "CREATE FUNCTION f AS 'x.Y' USING JAR '/tmp/x.jar'",
    "CREATE TEMPORARY VIEW v AS SELECT 1",
    "CREATE TABLE t (a int) USING parquet",
    "DROP TABLE t",
    "INSERT INTO __scan_0 VALUES (1)",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT 1",
    "DELETE FROM __scan_0",
    "SET spark.sql.ansi.enabled = false",
    "SET VAR x = 1",
    "DECLARE x INT",
    "SHOW TABLES",
    "DESCRIBE TABLE __scan_0",
    "EXPLAIN SELECT 1",
    "CACHE TABLE __scan_0",
    "USE default",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
    "CALL sys.x()",
    "SELECT TRANSFORM (id) USING 'cat' FROM __scan_0",
    "FROM __scan_0 INSERT INTO t SELECT *",
    "SELECT * FROM IDENTIFIER('a' || 'b')",
    "SELECT * FROM IDENTIFIER('parquet.`/tmp`')",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'HOME')",
    "SELECT IDENTIFIER('id') FROM __scan_0",
    "SELECT * FROM __scan_0 VERSION AS OF 1",
    "SELECT * FROM __scan_0 TIMESTAMP AS OF '2024-01-01'",
    "SELECT * FROM STREAM __scan_0",
    "ANALYZE TABLE __scan_0 COMPUTE STATISTICS",
    "LIST JARS",
    "SELECT 1; SELECT 2",
)


@pytest.mark.parametrize("text", STATEMENTS)
def test_refuses_all_that_is_no_query(spark: ExecSession, sales: Scan, text: str) -> None:
    with pytest.raises(SqlError) as refused:
        query(spark, text, sales)
    assert isinstance(refused.value, PlanRefused | RelationNotBound) or refused.value.condition == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize("text", ["SELECT '${env:HOME}'", "SELECT '${system:user.dir}'", "SELECT '${spark.app.name}'"])
def test_does_not_substitute_variables(spark: ExecSession, text: str) -> None:
    assert query(spark, text).column(0).to_pylist() == [text.split("'")[1]]


# Spark would load a class that a type in JSON names. `deltagateway.guard.TypeArgumentsTest` has the ways to write one.
_TYPE = '{"type":"struct","fields":[{"name":"a","type":%s,"nullable":true,"metadata":%s}]}'
_VECTOR = '{"type":"udt","class":"org.apache.spark.mllib.linalg.VectorUDT","pyClass":null,"sqlType":"integer"}'


@pytest.mark.parametrize(
    ("column", "metadata", "found"),
    [
        (_VECTOR, "{}", "a user-defined type of Java"),
        ('"integer"', '{"EXISTS_DEFAULT":"1"}', "metadata of a column (EXISTS_DEFAULT)"),
    ],
)
def test_rejects_types_that_run_code(spark: ExecSession, column: str, metadata: str, found: str) -> None:
    text = f"SELECT from_json('{{\"a\":1}}', concat('{_TYPE % (column, metadata)}', '')).a"
    with pytest.raises(PlanRefused) as refused:
        query(spark, text)
    assert found in refused.value.message
    allowed = text.replace(column, '"integer"').replace(metadata, '{"comment":"x"}')
    assert query(spark, allowed).column(0).to_pylist() == [1]


def test_guards_explain_and_describe_as_well(spark: ExecSession, sales: Scan) -> None:
    plan = ReadPlan(text=f"SELECT * FROM parquet.`{sales.table_root}`", scans=(sales,))
    with pytest.raises(RelationNotBound):
        spark.explain(plan, ExplainMode.SIMPLE, "", StatementRequest(identity=Identity("alice")))
    with pytest.raises(RelationNotBound):
        spark.describe(plan, StatementRequest(identity=Identity("alice")))


def test_sees_no_names_of_earlier_statements(spark: ExecSession, sales: Scan) -> None:
    query(spark, "SELECT * FROM __scan_0", sales)
    with pytest.raises(RelationNotBound):
        query(spark, "SELECT * FROM __scan_0")
