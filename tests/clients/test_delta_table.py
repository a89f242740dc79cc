"""`DeltaTable` of Delta's Python package against a real server: changes, maintenance, history, and rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.connect.functions as F
import pytest
from pyspark.errors.exceptions.connect import AnalysisException, IllegalArgumentException, UnsupportedOperationException
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from tests.clients.connect_sessions import delta_table_class, remote_session
from tests.clients.fix_server import RealServer
from tests.samples import some

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCHEMA = "delta_tables"
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def api() -> Any:
    return delta_table_class()


@pytest.fixture(scope="module")
def spark(server: RealServer) -> Iterator[SparkSession]:
    with remote_session(server.connect_port, authority=server.certificate.certificate) as session:
        session.sql(f"CREATE SCHEMA {SCHEMA}")
        session.sql(f"USE {SCHEMA}")
        yield session
        session.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def table(api: Any, spark: SparkSession) -> Iterator[Any]:
    """Yields the table t with the rows (1, a) to (4, d)."""
    spark.sql("CREATE TABLE t (id INT, name STRING) TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    yield api.forName(spark, "t")
    spark.sql("DROP TABLE t")


def rows_of(spark: SparkSession, table: str = "t") -> Rows:
    return [tuple(row) for row in spark.table(table).orderBy("id").collect()]


def source(spark: SparkSession) -> Any:
    return spark.createDataFrame([(2, "B"), (9, "new")], "id int, name string")


def merge_by_names(spark: SparkSession, table: Any) -> Any:
    merge = table.alias("t").merge(source(spark).alias("s"), "t.id = s.id")
    return merge.whenMatchedUpdate(set={"name": "s.name"}).whenNotMatchedInsert(values={"id": "s.id", "name": "'x'"})


def merge_by_columns(spark: SparkSession, table: Any) -> Any:
    rows = source(spark)
    merge = table.merge(rows, table.toDF().id == rows.id)
    merge = merge.whenMatchedUpdate(condition=rows.name == "B", set={"name": F.concat(rows.name, F.lit("{}"))})
    return merge.whenNotMatchedBySourceDelete(condition=table.toDF().id > 3)


def merge_all(spark: SparkSession, table: Any) -> Any:
    return (
        table.alias("target")
        .merge(source(spark), "target.id = source.id")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
    )


# The change, its row counts, and the rows after it.
CHANGES: dict[str, tuple[Callable[[Any, Any], Any], Rows, Rows]] = {
    "delete": (lambda s, t: t.delete("id > 2"), [(2,)], [(1, "a"), (2, "b")]),
    "delete by a column": (lambda s, t: t.delete(F.col("id") != 1), [(3,)], [(1, "a")]),
    "delete by a column of the table": (lambda s, t: t.delete(t.toDF().id != 1), [(3,)], [(1, "a")]),
    "delete with an alias": (lambda s, t: t.alias("x").delete("x.id > 1"), [(3,)], [(1, "a")]),
    "delete all": (lambda s, t: t.delete(), [(4,)], []),
    "update": (
        lambda s, t: t.update("id = 1", {"name": "concat(name, '!')"}),
        [(1,)],
        [(1, "a!"), (2, "b"), (3, "c"), (4, "d")],
    ),
    "update all": (lambda s, t: t.update(set={"name": F.lit(None)}), [(4,)], [(n, None) for n in range(1, 5)]),
    "merge by names": (
        lambda s, t: merge_by_names(s, t).execute(),
        [(2, 1, 0, 1)],
        [(1, "a"), (2, "B"), (3, "c"), (4, "d"), (9, "x")],
    ),
    "merge by columns": (
        lambda s, t: merge_by_columns(s, t).execute(),
        [(2, 1, 1, 0)],
        [(1, "a"), (2, "B{}"), (3, "c")],
    ),
    "merge of all columns": (
        lambda s, t: merge_all(s, t).execute(),
        [(2, 1, 0, 1)],
        [(1, "a"), (2, "B"), (3, "c"), (4, "d"), (9, "new")],
    ),
}


@pytest.mark.parametrize("case", some(CHANGES, ("delete", "update", "merge by names", "merge by columns")))
def test_change_has_its_counts_and_runs_once(spark: SparkSession, table: Any, case: str) -> None:
    change, counts, after = CHANGES[case]
    assert [tuple(row) for row in change(spark, table).collect()] == counts
    assert rows_of(spark) == after
    assert [row.version for row in table.history().collect()] == [2, 1, 0]


def test_merge_evolves_the_schema(spark: SparkSession, table: Any) -> None:
    rows = spark.createDataFrame([(9, "i", 1.5)], "id int, name string, more double")
    merge = table.alias("t").merge(rows.alias("s"), "t.id = s.id").withSchemaEvolution()
    merge.whenNotMatchedInsertAll().execute()
    assert rows_of(spark)[-1] == (9, "i", 1.5)


def test_table_is_read_described_and_found(spark: SparkSession, api: Any, table: Any) -> None:
    assert table.toDF().filter("id < 3").count() == 2
    assert table.alias("x").toDF().select("x.id").orderBy("x.id").first().id == 1
    joined = table.toDF().join(source(spark), "id").select("id", table.toDF()["name"])
    assert len(table.toDF().join(source(spark), "id").collect()) == 1 and joined is not None
    assert [row.operation for row in table.history().collect()] == ["WRITE", "CREATE TABLE"]
    assert [row.operation for row in table.history(1).collect()] == ["WRITE"]
    detail = table.detail().collect()[0]
    assert (detail.format, detail.numFiles > 0) == ("delta", True)
    assert table.detail().select("name", "location").collect()[0].location == detail.location
    assert "partitionColumns" in table.detail().columns
    assert api.isDeltaTable(spark, detail.location)
    assert not api.isDeltaTable(spark, f"{detail.location}/none")
    by_path = api.forPath(spark, detail.location)
    assert by_path.toDF().count() == 4
    by_path.delete("id = 1")
    assert rows_of(spark)[0] == (2, "b")


def test_maintenance_runs_and_versions_are_restored(spark: SparkSession, table: Any) -> None:
    table.delete("id = 4")
    assert [row.num_restored_files >= 0 for row in table.restoreToVersion(1).collect()] == [True]
    assert len(rows_of(spark)) == 4
    spark.sql("INSERT INTO t VALUES (5, 'e')")
    assert len(table.optimize().executeCompaction().collect()) == 1
    table.optimize().executeZOrderBy("id")
    table.vacuum()
    table.vacuum(200)
    table.generate("symlink_format_manifest")
    table.addFeatureSupport("deletionVectors")
    assert "deletionVectors" in table.detail().collect()[0].tableFeatures
    operations = [row.operation for row in table.history().collect()]
    assert operations[-4:] == ["RESTORE", "DELETE", "WRITE", "CREATE TABLE"] and "OPTIMIZE" in operations


def test_error_of_maintenance_is_an_illegal_argument(spark: SparkSession, table: Any) -> None:
    calls: list[Callable[[], Any]] = [lambda: table.restoreToVersion(999).collect(), lambda: table.vacuum(0)]
    for call in calls:
        with pytest.raises(IllegalArgumentException, match=r"DELTA_(CANNOT_RESTORE_TABLE_VERSION|VACUUM_RETENTION)"):
            call()
    assert len(rows_of(spark)) == 4


def test_metrics_of_the_source_of_a_merge_are_rejected(spark: SparkSession, table: Any) -> None:
    rows = spark.createDataFrame([(1, "i")], "id int, name string").observe("m", F.count("*").alias("rows"))
    merge = table.alias("t").merge(rows.alias("s"), "t.id = s.id").whenMatchedDelete()
    with pytest.raises(UnsupportedOperationException, match="observe in a DeltaTable's merge"):
        merge.execute()
    assert len(rows_of(spark)) == 4


def test_table_is_cloned(spark: SparkSession, table: Any) -> None:
    table.delete("id = 1")
    clone = table.cloneAtVersion(1, f"{SCHEMA}.cloned", isShallow=True, properties={"a.b": "c"})
    assert clone.toDF().count() == 4
    assert table.clone(f"{SCHEMA}.cloned", replace=True, isShallow=True).toDF().count() == 3


def test_table_is_created_by_its_builder(spark: SparkSession, api: Any) -> None:
    builder = api.create(spark).tableName("built").comment("it's built").property("a.b", "c")
    builder = builder.addColumn("id", "INT", nullable=False, comment="a key").addColumn("day", "DATE")
    builder = builder.addColumn("year", "INT", generatedAlwaysAs="year(day)").partitionedBy("year")
    builder.execute()
    spark.sql("INSERT INTO built (id, day) VALUES (1, DATE'2024-02-29')")
    assert [row.year for row in spark.table("built").collect()] == [2024]
    assert "it's built" in {row.data_type for row in spark.sql("DESCRIBE EXTENDED built").collect()}
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        builder.execute()
    api.createIfNotExists(spark).tableName("built").addColumn("id", "INT").execute()
    replaced = api.createOrReplace(spark).tableName("built").addColumns(StructType([StructField("i", IntegerType())]))
    assert replaced.execute().toDF().columns == ["i"]


def test_parquet_is_converted(spark: SparkSession, api: Any, server: RealServer, tmp_path_factory: Any) -> None:

    folder = Path(server.lake, "to_convert")
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    converted = api.convertToDelta(spark, f"parquet.`{folder}`")
    assert sorted(row.id for row in converted.toDF().collect()) == [1, 2]


def test_options_of_hadoop_are_rejected(spark: SparkSession, api: Any, table: Any) -> None:
    by_path = api.forPath(spark, table.detail().collect()[0].location)
    assert by_path.toDF().count() == 4
    by_path._plan._table.path.hadoop_conf["fs.s3a.access.key"] = "x"
    with pytest.raises(UnsupportedOperationException, match="Hadoop options") as caught:
        by_path.toDF().collect()
    assert caught.value.getCondition() == "UNSUPPORTED_CONNECT_FEATURE"


def test_change_within_a_query_is_rejected_and_does_not_run(spark: SparkSession, table: Any) -> None:
    plan = import_module("delta.connect.plan").DeleteFromTable(table._plan, None)
    deleted = import_module("pyspark.sql.connect.dataframe").DataFrame(plan, spark)
    uses: list[Callable[[], Any]] = [deleted.limit(1).collect, lambda: deleted.schema, deleted.explain]
    for use in uses:
        with pytest.raises(UnsupportedOperationException, match="delete_from_table"):
            use()
    assert len(rows_of(spark)) == 4
