"""Runs statements in plain Spark, in the gateway's release, and returns each one's result.

It is a separate process without gateway code. The argument is a JSON file with `folder`, `tables` (name and Parquet
file), `made` (name and query) and `files` (name, settings, statements); for each file a JSON line is written to the
second argument's file: for each statement `error`, or `columns` (name and type), `rows` (a text each, cells separated
by tabs, as Spark's own Thrift server shows them) and if they are `sorted`.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_UNSORTED = {"Join", "Aggregate", "Generate", "Sample", "Distinct", "Union", "Except", "Intersect", "Deduplicate"}


def open_spark(folder: Path) -> SparkSession:
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "America/Los_Angeles")
        .config("spark.sql.binaryOutputStyle", "HEX")
        .config("spark.sql.datetime.java8API.enabled", "true")  # as Spark's Thrift server; otherwise old times differ
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", "-Dderby.system.home=" + str(folder))
        .getOrCreate()
    )


def answer(spark: SparkSession, statement: str) -> dict[str, Any]:
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)  # whose settings hold
    try:
        frame = spark.sql(statement)
        execution = frame._jdf.queryExecution()
        fields = frame._jdf.schema().fields()
        raw = spark._jvm.org.apache.spark.sql.catalyst.util.CharVarcharUtils
        columns = []
        for field in fields:
            declared = raw.getRawType(field.metadata())
            columns.append(
                (field.name(), (declared.get() if declared.isDefined() else field.dataType()).catalogString())
            )
        if execution.commandExecuted().getClass().getSimpleName() == "CommandResult":
            rows = ["\t".join("NULL" if cell is None else str(cell) for cell in row) for row in frame.collect()]
            return {"columns": columns, "rows": rows, "sorted": True, "command": True}
        texts = spark._jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(execution.executedPlan())
        rows = list(spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(texts))
        return {"columns": columns, "rows": rows, "sorted": _is_sorted(execution.analyzed()), "command": False}
    except Exception as error:  # noqa: BLE001 whatever Spark raises is an answer too
        return {"error": str(error)[:400]}


def _is_sorted(plan: Any) -> bool:
    name = plan.getClass().getSimpleName()
    if name == "Sort":
        return bool(getattr(plan, "global")())
    children = plan.children()
    return name not in _UNSORTED and children.size() > 0 and _is_sorted(children.apply(0))


def clean(spark: SparkSession, remaining: set[str]) -> None:
    spark.sql("USE spark_catalog.default")
    for database in spark.catalog.listDatabases():
        if database.name != "default":
            spark.sql(f"DROP DATABASE `{database.name}` CASCADE")
    for table in spark.catalog.listTables("default"):
        if not table.isTemporary and table.name not in remaining:
            spark.sql(f"DROP {'VIEW' if table.tableType == 'VIEW' else 'TABLE'} `{table.name}`")


def main() -> None:
    requested = json.loads(Path(sys.argv[1]).read_text())
    spark = open_spark(Path(requested["folder"]))
    spark.sparkContext.setLogLevel("OFF")
    logging.disable()  # pyspark logs each error with its stack
    for name, path in requested["tables"].items():
        spark.read.parquet(path).write.saveAsTable(name)
    for name, query in requested["made"].items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    remaining = {*requested["tables"], *requested["made"]}
    with Path(sys.argv[2]).open("w") as out:
        for file in requested["files"]:
            session = spark.newSession()
            for key, value in file["settings"]:
                session.conf.set(key, value)
            answers = [answer(session, statement) for statement in file["statements"]]
            out.write(json.dumps({"name": file["name"], "answers": answers}) + "\n")
            out.flush()
            clean(spark.newSession(), remaining)
    spark.stop()


if __name__ == "__main__":
    main()
