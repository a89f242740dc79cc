"""A program of pyspark-client in an environment of its own: prints the rows as JSON.

Arguments: the address, `sc://…`, and a schema for its tables.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402


def main(url: str, schema: str) -> None:
    spark: Any = SparkSession.builder.remote(url).getOrCreate()
    found: dict[str, Any] = {"version": spark.version}
    spark.sql(f"CREATE SCHEMA {schema}")
    spark.catalog.setCurrentDatabase(schema)
    rows = spark.createDataFrame([(1, "a", [1, None]), (2, "b", None)], "id INT, name STRING, list ARRAY<INT>")
    rows.write.saveAsTable("t")
    rows.write.mode("append").saveAsTable("t")
    table = spark.table("t")
    found["rows"] = [row.asDict() for row in table.dropDuplicates(["id"]).orderBy("id").collect()]
    found["aggregated"] = [tuple(row) for row in table.groupBy("name").agg(F.sum("id")).orderBy("name").collect()]
    found["joined"] = table.alias("a").join(table.alias("b"), F.col("a.id") == F.col("b.id")).count()
    found["sql"] = [tuple(row) for row in spark.sql("SELECT :x + 1 AS y", args={"x": 41}).collect()]
    found["pandas"] = table.toPandas()["id"].tolist()
    table.createOrReplaceTempView("v")
    found["view"] = spark.sql("SELECT count(*) FROM v").first()[0]
    found["schema"] = table.schema.simpleString()
    found["tables"] = [one.name for one in spark.catalog.listTables() if not one.isTemporary]
    found["errors"] = []
    for text in ("SELEC", "SELECT * FROM nobody", "SELECT 1/0"):
        try:
            spark.sql(text).collect()
        except PySparkException as error:
            found["errors"].append((type(error).__name__, error.getSqlState()))
    found["deleted"] = [tuple(row) for row in spark.sql("DELETE FROM t WHERE id = 1").collect()]
    found["many"] = spark.range(300_000).selectExpr("id", "id * 2 AS double").toArrow().num_rows
    spark.sql(f"DROP SCHEMA {schema} CASCADE")
    spark.stop()
    print(json.dumps(found))


main(*sys.argv[1:])
